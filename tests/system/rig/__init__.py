"""What the system tests stand on: namespaces, airs, processes, captures and checks.

Only the standard library and Debian's iproute2, tcpdump, iw and curl are used.
"""
