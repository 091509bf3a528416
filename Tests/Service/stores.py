# SPDX-License-Identifier: GPL-2.0-or-later
"""A store of the S3 protocol that checks signatures: moto, from Python's package index, behind a proxy with faults."""

import http.client
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import urllib.request

from rig import until

PACKAGES = ["moto[server]==5.2.5", "boto3==1.44.8"]
_folder = None


def install():
    """Installs the packages into a temporary folder, once, unless VATOOLBOX_STORE_PACKAGES is a folder that has them."""
    global _folder
    if _folder is None:
        _folder = os.environ.get("VATOOLBOX_STORE_PACKAGES")
        if not _folder:
            _folder = tempfile.mkdtemp(prefix="packages-")
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", _folder, *PACKAGES]
            subprocess.run(command, check=True)
        sys.path.insert(0, _folder)
    return _folder


def uninstall():
    if _folder and _folder != os.environ.get("VATOOLBOX_STORE_PACKAGES"):
        shutil.rmtree(_folder, ignore_errors=True)


class Store:
    """A store with one bucket, `films`, and a user who may do everything there."""

    def __init__(self):
        import boto3

        self.lines = []
        environment = dict(os.environ, PYTHONPATH=str(_folder))
        command = [sys.executable, "-c", "from moto.server import main; main()", "-H", "127.0.0.1", "-p", "0"]
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()
        found = until(
            lambda: next((m for m in (re.search(r"http://127.0.0.1:(\d+)", line) for line in self.lines) if m), None),
            "the store listens",
        )
        self.port = int(found.group(1))
        self.url = f"http://127.0.0.1:{self.port}"
        self.secret = self.key = "root"
        iam = self._client(boto3, "iam")
        iam.create_user(UserName="service")
        statement = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        iam.put_user_policy(UserName="service", PolicyName="all", PolicyDocument=policy)
        made = iam.create_access_key(UserName="service")["AccessKey"]
        self._client(boto3, "s3").create_bucket(Bucket="films")
        # From here on, every request must be signed.
        headers = {"Content-Type": "text/plain"}
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/moto-api/reset-auth", b"0", headers, method="POST"))
        self.key, self.secret = made["AccessKeyId"], made["SecretAccessKey"]
        self.s3 = self._client(boto3, "s3")

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)

    def _client(self, boto3, name):
        return boto3.client(
            name, endpoint_url=self.url, region_name="us-east-1", aws_access_key_id=self.key,
            aws_secret_access_key=self.secret,
        )

    def keys(self, prefix=""):
        return sorted(entry["Key"] for entry in self.s3.list_objects_v2(Bucket="films", Prefix=prefix).get("Contents", []))

    def body(self, key):
        return self.s3.get_object(Bucket="films", Key=key)["Body"].read()

    def uploads(self):
        """What has begun in parts and has not ended."""
        return self.s3.list_multipart_uploads(Bucket="films").get("Uploads", [])

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


class Faults:
    """A proxy before a store. `rule` gets a request, and may wait, and return a status (with a body) to answer with, or
    `cut` and a number of bytes after which the answer breaks off."""

    def __init__(self, store):
        self.rule, self.seen = (lambda request: None), []
        faults = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                faults.seen.append((self.command, self.path, self.headers))
                try:
                    self.reply(faults.rule(self), body)
                except OSError:
                    self.close_connection = True

            def reply(self, fault, body):
                if fault and fault[0] != "cut":
                    return self.write(fault[0], {}, fault[1])
                connection = http.client.HTTPConnection("127.0.0.1", store.port)
                connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    connection.putheader(name, value)
                connection.endheaders(body)
                answer = connection.getresponse()
                data, headers = answer.read(), dict(answer.headers)
                connection.close()
                if self.command == "HEAD":
                    return self.write(answer.status, headers, b"", int(headers.get("Content-Length", 0)))
                return self.write(answer.status, headers, data, cut=fault[1] if fault else None)

            def write(self, status, headers, data, length=None, cut=None):
                self.send_response(status)
                for name, value in headers.items():
                    if name.lower() not in ("content-length", "connection", "transfer-encoding", "date", "server"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(data) if length is None else length))
                self.end_headers()
                self.wfile.write(data[:cut])
                self.wfile.flush()
                self.close_connection = self.close_connection or cut is not None

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = forward

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def paths(self, method):
        return [urllib.parse.unquote(path) for seen, path, _ in self.seen if seen == method]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
