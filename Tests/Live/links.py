# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of a limited rate between a stream and its server, in this process, so that no network has to be changed."""

import socket
import threading
import time


class Link:
    """Passes TCP connections on at a rate that can change, with buffers as small as those of a modem."""

    def __init__(self, test, port, bits_per_second):
        self.target, self.rate = port, bits_per_second
        self.socket = socket.socket()
        # The window of the sender follows from it.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen()
        self.port = self.socket.getsockname()[1]
        self.passed = 0
        self.open = []
        threading.Thread(target=self._accept, daemon=True).start()
        test.addCleanup(self.close)

    def close(self):
        self.socket.close()
        for one in self.open:
            one.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            self.open += [client, server]
            threading.Thread(target=self._pass, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, False), daemon=True).start()

    def _pass(self, source, target, is_limited):
        begin, credit = time.monotonic(), 0.0
        try:
            while True:
                piece = source.recv(2048)
                if not piece:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(piece)
                if not is_limited:
                    continue
                self.passed += len(piece)
                now = time.monotonic()
                credit = min(credit + (now - begin) * self.rate / 8, 4096)
                begin = now
                credit -= len(piece)
                if credit < 0:
                    time.sleep(-credit * 8 / self.rate)
        except OSError:
            return
