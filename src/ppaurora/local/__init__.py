"""All servers embedded on this machine: in threads, or in processes over TLS."""
