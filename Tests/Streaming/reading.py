# SPDX-License-Identifier: GPL-2.0-or-later
"""Other readers of presentations: ffmpeg over HTTP, and the package m3u8 of the Python Package Index."""

import collections
import functools
import http.server
import json
import subprocess
import sys
import threading
from pathlib import Path

from good import NAME, Bad, run

TYPES = {".m3u8": "application/vnd.apple.mpegurl", ".mp4": "video/mp4", ".m4s": "video/iso.segment",
         ".ts": "video/mp2t",
         ".mpd": "application/dash+xml", ".html": "text/html"}
PACKAGE = "m3u8==6.0.0"

PRINTER = """
import json, sys, m3u8
show = m3u8.load(sys.argv[1])
def media(path):
    one = m3u8.load(path)
    return {"target": one.target_duration, "type": one.playlist_type, "end": one.is_endlist,
            "i_frames": one.is_i_frames_only, "segments": [
                [part.uri, part.duration, part.byterange, part.init_section.uri if part.init_section else None]
                         for part in one.segments]}
print(json.dumps({
    "independent": show.is_independent_segments,
    "variants": [[one.uri, one.stream_info.bandwidth, one.stream_info.average_bandwidth, one.stream_info.codecs,
                  one.stream_info.resolution, one.stream_info.frame_rate, one.stream_info.video_range,
                  one.stream_info.audio]
                 for one in show.playlists],
    "i_frames": [[one.uri, one.iframe_stream_info.bandwidth, one.iframe_stream_info.resolution]
                 for one in show.iframe_playlists],
    "media": [[one.type, one.group_id, one.name, one.language, one.default, one.uri] for one in show.media],
    "playlists": {path: media(path) for path in sys.argv[2:]}}))
"""


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = TYPES
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    """A server of a folder whose client may go away in the middle of an answer."""

    daemon_threads = True

    def __init__(self, folder, handler=Handler):
        super().__init__(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_):
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(*_)

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def decoded_frames(folder, names):
    """The number of frames that ffmpeg decodes of each playlist, over HTTP, and of all sound of the presentation."""
    counts = []
    with Server(folder) as server:
        for name in names:
            text = run(["ffmpeg", "-nostdin", "-v", "error", "-xerror", "-i", f"{server.address}/{name}", "-map", "0",
                        "-fps_mode",
                        "passthrough", "-f", "framecrc", "-"])
            lines = [line for line in text.splitlines() if line[:1].isdigit()]
            counts.append(dict(collections.Counter(int(line.split(",")[0]) for line in lines)))
    return counts


def check_decoding(folder, show, frames):
    """ffmpeg's demuxer finds every frame of every variant, and the same of the whole presentation."""
    names = [variant.path for variant in show.variants] + [NAME]
    *single, whole = decoded_frames(folder, names)
    written = [len(variant.units) for variant in show.variants]
    for variant, count, units in zip(show.variants, single, written):
        if list(count.values()) != [units]:
            raise Bad(f"ffmpeg decodes {count} frames of {variant.path}, which has {units}")
    if sorted(written) != sorted(frames):
        raise Bad(f"the command wrote {frames} frames, the variants have {written}")
    is_complete = collections.Counter(written) <= collections.Counter(whole.values())
    if len(whole) != len(show.variants) + len(show.audio) or not is_complete:
        raise Bad(f"ffmpeg decodes {whole} frames of {NAME}, the variants have {written} and there are "
                  f"{len(show.audio)} sounds")
    return sum(written)


def package(folder):
    """The Python of an environment with the package m3u8, which is created on demand."""
    python = Path(folder) / "bin" / "python"
    if subprocess.run([python, "-c", "import m3u8"], capture_output=True).returncode if python.exists() else True:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE], check=True)
    return python


def check_package(folder, show, python):
    """The package m3u8 finds in the playlists what this judge finds."""
    renditions = show.variants + show.audio + show.i_frames
    paths = [str(Path(folder) / rendition.path) for rendition in renditions]
    found = json.loads(run([python, "-c", PRINTER, Path(folder) / NAME, *paths]))
    size = lambda tag: [int(side) for side in tag["RESOLUTION"].split("x")]  # noqa: E731
    ours = {
        "independent": show.multivariant.is_independent,
        "variants": [[tag["URI"], int(tag["BANDWIDTH"]), int(tag["AVERAGE-BANDWIDTH"]), tag["CODECS"], size(tag),
                      float(tag["FRAME-RATE"]), tag.get("VIDEO-RANGE"), tag.get("AUDIO")]
                      for tag in show.multivariant.variants],
        "i_frames": [[tag["URI"], int(tag["BANDWIDTH"]), size(tag)] for tag in show.multivariant.i_frames],
        "media": [[tag["TYPE"], tag["GROUP-ID"], tag["NAME"], tag.get("LANGUAGE"), tag.get("DEFAULT"), tag.get("URI")]
                  for tag in show.multivariant.media],
        "playlists": {},
    }
    for path, rendition in zip(paths, renditions):
        one = rendition.playlist
        segments = [[part.uri, float(part.duration), f"{part.bytes[1]}@{part.bytes[0]}" if part.bytes else None,
                     part.map]
                    for part in one.segments]
        ours["playlists"][path] = {"target": one.target, "type": (one.kind or "").lower(), "end": one.is_complete,
                                   "i_frames": one.is_i_frames, "segments": segments}
    for key, value in ours.items():
        if found[key] != value:
            raise Bad(f"the package m3u8 reads {key} as {str(found[key])[:300]}, not {str(value)[:300]}")
