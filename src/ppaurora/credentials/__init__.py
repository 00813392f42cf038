"""Certificates, the keys that participants are known by, and signatures."""
