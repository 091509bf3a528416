# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may do what: the token of the settings, keys with scopes, and signed links."""

import json
import unittest

from rig import Service, clip, until

TOKEN = "correct horse battery staple"


class TokenTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        environment = {"VATOOLBOX_SERVICE_ACCESS_TOKEN": TOKEN}
        cls.service = Service("--disk-reserve", "0", environment=environment)

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def test_only_the_token_opens(self):
        service = self.service
        wrong = ["", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), TOKEN[1:], "x", "vtk_", "vtk__", "vtk_a_b", "é" * 9]
        headers = [{}] + [{"Authorization": f"Bearer {token}".encode("latin-1")} for token in wrong]
        headers += [{"Authorization": text} for text in [TOKEN, f"Basic {TOKEN}", f"Token {TOKEN}", "Bearer", ""]]
        for header in headers:
            with self.subTest(header):
                answer = service.request("GET", "/v1/jobs", headers=header)
                self.assertEqual((answer.status, answer.json["code"]), (401, "unauthorized"))
                self.assertTrue(answer.headers["WWW-Authenticate"].startswith("Bearer"))
                self.assertNotIn(TOKEN, answer.body.decode())
        for method, path in [("GET", "/v1/status"), ("POST", "/v1"), ("POST", "/v1/drain"), ("GET", "/v1/none"),
                             ("PUT", "/v1/uploads/x"), ("GET", "/v1/events"), ("OPTIONS", "/v1/jobs"), ("GET", "/v1x"),
                             ("GET", "/v1//jobs"), ("GET", "/v1/errors/../jobs"), ("GET", "//v1/jobs")]:
            self.assertEqual(service.request(method, path).status, 401, (method, path))
        for path in ["/healthz", "/", "/v1", "/v1/openapi.json", "/v1/errors", "/v1/errors/not-found"]:
            self.assertEqual(service.get(path).status, 200, path)
        for scheme in ("Bearer", "bearer", "BEARER"):
            answer = service.request("GET", "/v1/jobs", headers={"Authorization": f"{scheme} {TOKEN}"})
            self.assertEqual(answer.status, 200)
        self.assertFalse(any(TOKEN in line for line in service.lines), "the token is not logged")


class KeyTests(unittest.TestCase):
    def setUp(self):
        self.service = Service("--disk-reserve", "0")
        refused = self.service.post("/v1/keys", {"name": "first", "scopes": ["jobs:read"]})
        self.assertEqual((refused.status, refused.json["code"]), (409, "invalid-state"), "it would lock all out")
        self.admin = self.service.post("/v1/keys", {"name": "admin", "scopes": ["admin"]}).json
        self.service.token = self.admin["secret"]

    def tearDown(self):
        self.service.close()

    def key(self, *scopes, **more):
        answer = self.service.post("/v1/keys", {"name": "key", "scopes": list(scopes), **more})
        self.assertEqual(answer.status, 201, answer)
        return answer.json

    def status(self, secret, method, path, body=None):
        return self.service.request(method, path, body, {"Authorization": f"Bearer {secret}"} if secret else {}).status

    def test_scopes_permit_what_they_name(self):
        job = self.service.submit(self.service.upload(clip(), "a.mp4")["id"])
        self.service.wait(job)
        calls = {
            "jobs:read": [("GET", "/v1/jobs"), ("GET", f"/v1/jobs/{job}"), ("GET", f"/v1/jobs/{job}/files/out.mp4"),
                          ("GET", f"/v1/jobs/{job}/events"), ("GET", f"/v1/jobs/{job}/log")],
            "jobs:write": [("POST", "/v1/jobs"), ("POST", f"/v1/jobs/{job}/cancel"), ("POST", f"/v1/jobs/{job}/retry")],
            "uploads:write": [("PUT", "/v1/uploads/a.mp4"), ("DELETE", "/v1/uploads/none")],
            "admin": [("GET", "/v1/keys"), ("POST", "/v1/keys"), ("POST", f"/v1/keys/{self.admin['id']}/rotate"),
                      ("DELETE", f"/v1/keys/{self.admin['id']}"), ("PUT", "/v1/queues/q"), ("POST", "/v1/drain")],
        }
        for scope in ["jobs:read", "jobs:write", "uploads:write"]:
            secret = self.key(scope)["secret"]
            for needed, requests in calls.items():
                for method, path in requests:
                    with self.subTest(scope=scope, method=method, path=path):
                        status = self.status(secret, method, path, {} if method in ("POST", "PUT") else None)
                        if needed == scope:
                            self.assertNotIn(status, (401, 403))
                        else:
                            self.assertEqual(status, 403)
        self.assertEqual(self.service.get("/v1/keys").status, 200)

    def test_keys_are_secret_and_can_be_revoked(self):
        key = self.key("jobs:read")
        identifier, secret = key["id"], key["secret"]
        listed = self.service.get("/v1/keys")
        self.assertNotIn(secret.split("_")[2], listed.body.decode())
        self.assertNotIn(secret.split("_")[2], (self.service.data / "keys.json").read_text())
        self.assertEqual((self.service.data / "keys.json").stat().st_mode & 0o77, 0)
        self.assertFalse(any(secret.split("_")[2] in line for line in self.service.lines))
        other = self.key("jobs:read")["secret"]
        mixed = f"vtk_{identifier}_{other.split('_')[2]}"
        for text in ["", "vtk", mixed, secret[:-1], secret + "0", secret.upper(), f"vtk_{identifier}_", secret[4:]]:
            self.assertEqual(self.status(text or "-", "GET", "/v1/jobs"), 401, text)
        self.assertEqual(self.status(secret, "GET", "/v1/jobs"), 200)
        rotated = self.service.post(f"/v1/keys/{identifier}/rotate").json["secret"]
        self.assertEqual(self.status(secret, "GET", "/v1/jobs"), 401)
        self.assertEqual(self.status(rotated, "GET", "/v1/jobs"), 200)
        # They are kept.
        self.service.kill()
        self.service.start()
        self.assertEqual(self.status(rotated, "GET", "/v1/jobs"), 200)
        self.assertEqual(self.service.request("DELETE", f"/v1/keys/{identifier}").status, 204)
        self.assertEqual(self.status(rotated, "GET", "/v1/jobs"), 401)
        last = self.service.request("DELETE", f"/v1/keys/{self.admin['id']}")
        self.assertEqual((last.status, last.json["code"]), (409, "invalid-state"), "the others could not be managed")

    def test_keys_expire(self):
        key = self.key("jobs:read", expiresIn=3600)
        self.assertEqual(self.status(key["secret"], "GET", "/v1/jobs"), 200)
        # An hour later, as far as the record is concerned.
        self.service.kill()
        path = self.service.data / "keys.json"
        records = json.loads(path.read_text())
        for record in records:
            if record["id"] == key["id"]:
                record["expiresAt"] -= 3600
        path.write_text(json.dumps(records))
        self.service.start()
        self.assertEqual(self.status(key["secret"], "GET", "/v1/jobs"), 401)
        self.assertEqual(self.service.get("/v1/keys").status, 200)

    def link(self, method, path, seconds=600, key=None):
        body = {"path": path, "method": method, "expiresIn": seconds}
        headers = {"Authorization": f"Bearer {key or self.service.token}"}
        return self.service.request("POST", "/v1/links", body, headers)

    def test_links_open_one_thing_for_a_while(self):
        service = self.service
        job = service.wait(service.submit(service.upload(clip(), "a.mp4")["id"]))["id"]
        path = f"/v1/jobs/{job}/files/out.mp4"
        link, short = self.link("GET", path), self.link("GET", path, seconds=1)
        self.assertEqual((link.status, short.status), (201, 201), link)
        url, service.token = link.json["url"], None
        self.assertEqual(service.get(url).status, 200)
        self.assertEqual(service.request("HEAD", url).status, 200)
        query = url.split("?")[1]
        expires = int(query.split("expires=")[1].split("&")[0])
        signature = query.split("signature=")[1]
        other = signature[:-1] + ("1" if signature[-1] == "0" else "0")
        wrong = [("DELETE", url), ("PUT", url), ("POST", url)]
        wrong += [("GET", f"/v1/jobs/{job}?{query}"), ("GET", f"/v1/jobs?{query}")]
        wrong += [("GET", f"{path}?{altered}") for altered in [
            f"expires={expires + 1}&signature={signature}", f"expires={expires}", f"signature={signature}",
            f"expires={expires}&signature={signature[:-1]}", f"expires={expires}&signature={other}",
            f"expires={expires}&signature=", f"expires={expires}&signature=&signature={signature}x",
            f"expires=x&signature={signature}",
        ]]
        wrong += [("GET", f"/v1/jobs/{job}/files/{name}?{query}") for name in ["%6Fut.mp4", "../files/out.mp4", "log"]]
        for method, target in wrong:
            with self.subTest(method=method, target=target):
                self.assertEqual(service.request(method, target).status, 401)
        until(lambda: service.get(short.json["url"]).status == 401, "the link has expired")

    def test_link_for_an_upload_takes_only_that(self):
        link = self.link("PUT", "/v1/uploads/linked.mp4").json["url"]
        self.service.token = None
        self.assertEqual(self.service.request("GET", link).status, 401)
        self.assertEqual(self.service.request("PUT", link.replace("linked", "other"), b"x").status, 401)
        self.assertEqual(self.service.request("PUT", link, b"x").status, 201)

    def test_links_give_no_more_than_their_makers_have(self):
        reader, writer = self.key("jobs:read")["secret"], self.key("uploads:write")["secret"]
        self.assertEqual(self.link("PUT", "/v1/uploads/x", key=reader).status, 403)
        self.assertEqual(self.link("GET", "/v1/jobs/" + "0" * 26 + "/files/a.mp4", key=writer).status, 403)
        paths = [("GET", "/v1/keys"), ("GET", "/v1/jobs"), ("PUT", "/v1/queues/q"), ("GET", "/v1/uploads/x")]
        for method, path in paths:
            self.assertEqual(self.link(method, path).status, 400, path)


if __name__ == "__main__":
    unittest.main()
