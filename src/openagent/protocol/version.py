"""The protocol's version. A client and a daemon compare it on hello.

The major number changes when an old client can no longer talk to a new daemon; the minor number
when something was added. Equal majors are compatible.
"""

PROTOCOL_MAJOR = 1
PROTOCOL_MINOR = 0
PROTOCOL_VERSION = f"{PROTOCOL_MAJOR}.{PROTOCOL_MINOR}"
