# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs with a quality target: predicted, encoded, measured by ffmpeg."""

import re
import subprocess
import unittest

from rig import Service, clip, file_output, probe


def ssim(path, reference):
    """The SSIM of luma, as ffmpeg measures it."""
    graph = "[0:v]settb=1,setpts=N[a];[1:v]settb=1,setpts=N[b];[a][b]ssim"
    command = ["ffmpeg", "-hide_banner", "-i", str(path), "-i", str(reference), "-lavfi", graph, "-f", "null", "-"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return float(re.search(r"SSIM Y:([0-9.]+)", told).group(1))


def target_output(name="out.mp4", metric="ssim", score=0.97, **more):
    output = file_output(name, target={"metric": metric, "score": score, **more})
    del output["video"]["quality"]
    return output


class TargetTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service("--workers-count", "1", "--disk-reserve", "0")
        cls.clip = clip("noisy.mp4", more=["-vf", "noise=alls=20:allf=t", "-qp", "6"])
        cls.upload = cls.service.upload(cls.clip)["id"]

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def test_an_output_reaches_its_target(self):
        job = self.service.wait(self.service.submit(self.upload, target_output()))
        self.assertEqual(job["state"], "succeeded", job)
        target = job["outputs"][0]["target"]
        self.assertEqual((target["metric"], target["wanted"], target["reached"]), ("ssim", 0.97, True), target)
        self.assertGreaterEqual(target["score"], 0.97)
        self.assertGreater(target["tries"], 1)
        measured = ssim(self.service.file(job["id"], "out.mp4"), self.clip)
        # Two seconds are one sample, so the output has its score.
        self.assertAlmostEqual(measured, target["score"], delta=5e-4)
        self.assertAlmostEqual(target["predicted"]["size"] / target["measured"]["size"], 1, delta=0.02)
        self.assertGreater(target["measured"]["frames"], 0)
        self.assertAlmostEqual(target["measured"]["score"], measured, delta=0.02)

    def test_a_dry_run_predicts(self):
        body = {"input": {"upload": self.upload}, "outputs": [file_output("plain.mp4"), target_output()]}
        plan = self.service.post("/v1/jobs?dryRun=true", body)
        self.assertEqual(plan.status, 200, plan)
        [planned] = plan.json["targets"]
        self.assertEqual(planned["output"], 1)
        self.assertNotIn("measured", planned["result"])
        self.assertGreater(plan.json["estimate"]["size"], planned["result"]["predicted"]["size"])
        self.assertIn("--target=ssim:0.97", plan.json["tasks"][0]["command"])
        job = self.service.wait(self.service.submit(self.upload, target_output()))
        self.assertEqual(job["outputs"][0]["target"]["quality"], planned["result"]["quality"])
        self.assertEqual(job["outputs"][0]["target"]["predicted"]["size"], planned["result"]["predicted"]["size"])

    def test_a_target_that_cannot_be_reached_fails_once(self):
        service = self.service
        job = service.wait(service.submit(self.upload, target_output(metric="psnr", score=79)))
        self.assertEqual(job["state"], "failed", job)
        failure = job["failure"]
        self.assertEqual((failure["code"], failure["retriable"]), ("target-unreachable", False), failure)
        self.assertTrue(failure["remedies"] and "dB" in failure["allowed"], failure)
        self.assertEqual(len(job["attempts"]), 1)
        codes = {entry["code"] for entry in service.get("/v1/errors").json["errors"]}
        self.assertIn("target-unreachable", codes)
        plan = service.post("/v1/jobs?dryRun=true", job_body(self.upload, target_output(metric="psnr", score=79)))
        self.assertEqual((plan.status, plan.json["value"]), (400, "target-unreachable"), plan)
        best = service.wait(service.submit(self.upload, target_output(metric="psnr", score=79, shortfall="best")))
        self.assertEqual(best["state"], "succeeded", best)
        self.assertEqual(best["outputs"][0]["target"]["reached"], False)
        self.assertTrue(any("no quality reaches" in text for text in best["warnings"]), best["warnings"])

    def test_several_outputs_have_their_own_targets(self):
        outputs = [target_output("a.mp4", score=0.99), target_output("b.mp4", score=0.9), file_output("c.mp4")]
        job = self.service.wait(self.service.submit(self.upload, *outputs))
        self.assertEqual(job["state"], "succeeded", job)
        found = [output.get("target") for output in job["outputs"]]
        self.assertLess(found[0]["quality"], found[1]["quality"])
        self.assertIsNone(found[2])
        sizes = [int(probe(self.service.file(job["id"], name))["format"]["size"]) for name in ("a.mp4", "b.mp4")]
        self.assertGreater(sizes[0], sizes[1])

    def test_contradictions_are_refused(self):
        both = file_output(target={"metric": "ssim", "score": 0.9})
        for output, field in [
            (both, "/outputs/0/video/target"),
            (target_output(score=1.0), "/outputs/0/video/target/score"),
            (target_output(metric="mse", score=1.0), "/outputs/0/video/target/metric"),
        ]:
            answer = self.service.post("/v1/jobs", job_body(self.upload, output))
            self.assertEqual((answer.status, answer.json["field"]), (400, field), answer)


def job_body(upload, *outputs):
    return {"input": {"upload": upload}, "outputs": list(outputs)}
