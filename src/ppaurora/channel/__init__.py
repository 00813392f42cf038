"""How parties talk: frames, transports (in memory, TLS 1.3), and a meter of what was said."""
