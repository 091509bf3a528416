# SPDX-License-Identifier: GPL-2.0-or-later
"""A proxy that breaks connections where a test says."""

import re
import socket
import threading

REQUEST = re.compile(rb"(GET|PUT|POST|DELETE|HEAD|PATCH) (\S+) HTTP/1\.1\r\n(.*?)\r\n\r\n", re.S)


class Rule:
    """What happens once to requests whose method and path match: `answer` is sent instead of that of the service, or the
    connection breaks after some bytes of the answer or of the request."""

    def __init__(self, pattern, answer=None, after_answered=None, after_sent=None, times=1):
        self.pattern, self.answer, self.times = re.compile(pattern), answer, times
        self.after_answered, self.after_sent = after_answered, after_sent


class Proxy:
    """Forwards to a service, and keeps the requests that it has seen as (method and path, header)."""

    def __init__(self, service):
        self.service = service
        self.rules, self.requests = [], []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.listener.close()

    def seen(self, pattern):
        with self.lock:
            return [request for request in self.requests if re.search(pattern, request[0])]

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _rule(self, line):
        with self.lock:
            for rule in self.rules:
                if rule.times > 0 and rule.pattern.search(line):
                    rule.times -= 1
                    return rule
        return None

    def _serve(self, client):
        try:
            server = socket.create_connection((self.service.host, self.service.port))
        except OSError:
            client.close()
            return
        present = {"rule": None, "left": None}

        def close():
            for end in (client, server):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                end.close()

        def answers():
            try:
                while data := server.recv(65536):
                    rule = present["rule"]
                    if rule and rule.after_answered is not None:
                        left = rule.after_answered
                        client.sendall(data[:left])
                        rule.after_answered -= len(data[:left])
                        if len(data) >= left:
                            break
                    else:
                        client.sendall(data)
            except OSError:
                pass
            close()

        threading.Thread(target=answers, daemon=True).start()
        try:
            while data := client.recv(65536):
                if found := REQUEST.match(data):
                    line = (found[1] + b" " + found[2]).decode()
                    with self.lock:
                        self.requests.append((line, found[3].decode()))
                    rule = present["rule"] = self._rule(line)
                    if rule and rule.answer:
                        client.sendall(rule.answer)
                        break
                rule = present["rule"]
                if rule and rule.after_sent is not None:
                    rule.after_sent -= len(data)
                    if rule.after_sent <= 0:
                        break
                server.sendall(data)
        except OSError:
            pass
        close()
