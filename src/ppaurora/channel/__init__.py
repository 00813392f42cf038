"""How parties talk: frames, transports (in memory, TLS 1.3), and a meter of what was said."""

from ppaurora.channel.base import Channel, Transport
from ppaurora.channel.memory import memory_transports
from ppaurora.channel.meter import Cost, Meter, MeterReading

__all__ = ["Channel", "Cost", "Meter", "MeterReading", "Transport", "memory_transports"]
