"""Under which names handlers find what the app has."""

from __future__ import annotations

from aiohttp import web

from ppaurora.app.modes import Mode
from ppaurora.app.private_folder import PrivateFolder
from ppaurora.app.sessions import Sessions

MODE = web.AppKey("mode", Mode)
SESSIONS = web.AppKey("sessions", Sessions)
PRIVATE_FOLDER = web.AppKey("private_folder", PrivateFolder)
