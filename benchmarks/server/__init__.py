"""The server: requests a second and their latency, with one and many clients."""
