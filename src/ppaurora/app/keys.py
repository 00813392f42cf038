"""Under which names handlers find what the app has."""

from __future__ import annotations

from aiohttp import web

from ppaurora.app.door import FrontDoor
from ppaurora.app.modes import Mode
from ppaurora.app.workroom import Workroom

MODE = web.AppKey("mode", Mode)
DOOR = web.AppKey("door", FrontDoor)
WORKROOM = web.AppKey("workroom", Workroom)
