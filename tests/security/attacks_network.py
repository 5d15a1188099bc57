"""Reaching anybody: a server of the test waits on the loopback interface, and is called or not."""

from tests.security import effects
from tests.security.attack import Attack, reward

_AT = '("127.0.0.1", @PORT@)'


def _attack(seen, body, **parts):
    return Attack("network", reward(body, **parts), seen, True)


ATTACKS = {
    "TCP": _attack(effects.tcp_called, f"import socket\nsocket.create_connection({_AT}, 5)"),
    "UDP": _attack(
        effects.udp_arrived,
        'import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", @UDP@))',
    ),
    "weights by torch.hub": Attack(
        "network",
        reward(
            """
import socket
socket.setdefaulttimeout(0.2)
torch.hub.load_state_dict_from_url("http://127.0.0.1:@PORT@/x.pt", model_dir="@OWN@", progress=False)
"""
        ),
        effects.tcp_called,
        True,
        control="worker",
    ),
    "local socket": _attack(
        effects.local_called, 'import socket\nsocket.socket(socket.AF_UNIX).connect("@OUT@/socket")'
    ),
    "abstract socket": _attack(
        effects.abstract_called, 'import socket\nsocket.socket(socket.AF_UNIX).connect("\\x00@ABSTRACT@")'
    ),
    "socket by the C library": _attack(
        effects.tcp_called,
        """
import ctypes, struct
libc = ctypes.CDLL(None)
address = struct.pack("=HH4s8x", 2, int.from_bytes((@PORT@).to_bytes(2, "big"), "little"), bytes([127, 0, 0, 1]))
libc.connect(libc.socket(2, 1, 0), address, 16)
""",
    ),
}
