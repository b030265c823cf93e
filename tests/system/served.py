# SPDX-License-Identifier: Apache-2.0
"""served.py WORD PORT - a server in a sandbox: TCP on every address, each connection gets WORD, who it is and
what it said; UDP likewise. Prints a line when it listens."""
import select
import socket
import sys


def listener(kind, port):
    sock = socket.socket(socket.AF_INET6, kind)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.bind(("::", port))
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    if kind == socket.SOCK_STREAM:
        sock.listen(1024)
    return sock


def answer_udp(sock, word, port):
    """From the address that was asked, which the route would not choose."""
    data, control, _, (peer, peer_port, *_) = sock.recvmsg(2048, 200)
    asked = socket.inet_ntop(socket.AF_INET6, control[0][2][:16])
    v4 = peer.startswith("::ffff:")
    with socket.socket(socket.AF_INET if v4 else socket.AF_INET6, socket.SOCK_DGRAM) as reply:
        reply.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if not v4:
            reply.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        reply.bind((asked.removeprefix("::ffff:"), port))
        reply.sendto(word + b" " + data, (peer.removeprefix("::ffff:"), peer_port))


def main():
    word, port = sys.argv[1].encode(), int(sys.argv[2])
    tcp, udp = listener(socket.SOCK_STREAM, port), listener(socket.SOCK_DGRAM, port)
    poll = select.epoll()
    poll.register(tcp, select.EPOLLIN)
    poll.register(udp, select.EPOLLIN)
    open_ = {}
    print("listening", flush=True)
    while True:
        for fd, _ in poll.poll():
            if fd == tcp.fileno():
                sock, _ = tcp.accept()
                open_[sock.fileno()] = sock
                poll.register(sock, select.EPOLLIN)
            elif fd == udp.fileno():
                answer_udp(udp, word, port)
            else:
                sock = open_[fd]
                try:
                    data = sock.recv(65536)
                    if data:
                        sock.sendall(b" ".join((word, sock.getpeername()[0].encode(), data)))
                        continue
                except OSError:
                    pass
                poll.unregister(fd)
                open_.pop(fd).close()


main()
