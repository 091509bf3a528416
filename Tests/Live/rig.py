# SPDX-License-Identifier: GPL-2.0-or-later
"""The built commands that record and stream, what they write, and the programs on the other side."""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
#: How long anything may take on a slow machine. Nothing passes because of it.
PATIENCE = 120

# A shell without job control has what it starts in the background ignore SIGINT, which commands inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


def programs():
    """The folder of the built programs."""
    folder = os.environ.get("VATOOLBOX_PROGRAMS")
    if folder:
        return pathlib.Path(folder)
    shown = subprocess.run(["swift", "build", "--show-bin-path"], cwd=ROOT, check=True, capture_output=True, text=True)
    return pathlib.Path(shown.stdout.strip())


PROGRAMS = programs()


def wait_until(is_so, what, limit=PATIENCE):
    """Waits until something is so, and returns it; fails otherwise."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = is_so()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"not in {limit} s: {what}")


def children(process, name):
    """The processes that a process has started, by the name of their program (its first 15 bytes)."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue
        begin, end = text.index("("), text.rindex(")")
        if text[begin + 1:end] == name and int(text[end + 2:].split()[1]) == process:
            found.append(int(path.parent.name))
    return found


def arenas(process):
    """How many arenas beside the main one the C library of a process has, at most: the heaps of which they consist."""
    heap = 64 << 20
    found = 0
    for line in pathlib.Path(f"/proc/{process}/maps").read_text().splitlines():
        fields = line.split()
        begin = int(fields[0].split("-")[0], 16)
        found += begin % heap == 0 and fields[1].startswith("rw-p") and len(fields) == 5
    return found


class Folder:
    """A folder of a test, which is removed with it."""

    def __init__(self, test):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="live-"))
        test.addCleanup(shutil.rmtree, self.path, True)

    def __truediv__(self, name):
        return self.path / name


class Disk(Folder):
    """A small disk, which is full soon."""

    def __init__(self, test, size):
        super().__init__(test)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(self.path)], check=True)
        test.addCleanup(subprocess.run, ["umount", "--lazy", str(self.path)], check=True)

    def fill(self):
        """Leaves no room."""
        with open(self / "filler", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass


def can_mount():
    """Whether a test may have a disk of its own."""
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False).returncode:
            return False
        subprocess.run(["umount", folder], check=True)
        return True


def lines(path):
    """The lines of a file; none if it is not there."""
    try:
        return pathlib.Path(path).read_text().split("\n")[:-1]
    except FileNotFoundError:
        return []


def preloaded(test, name, compiler="cc"):
    """Builds a library of this folder that is to be preloaded."""
    library = Folder(test) / f"{name}.so"
    source = pathlib.Path(__file__).with_name(f"{name}.c")
    subprocess.run([compiler, "-O1", "-fPIC", "-shared", "-o", library, source, "-ldl"], check=True)
    return library


class Run:
    """A command that runs until it is stopped, and what it prints."""

    def __init__(self, test, *arguments, env=(), folder=None, stdin=subprocess.DEVNULL, launcher=()):
        self.test = test
        self.progress = []
        self.progress_path = pathlib.Path(tempfile.mktemp(prefix="progress-"))
        os.mkfifo(self.progress_path)
        self.process = subprocess.Popen(
            [*launcher, str(PROGRAMS / "vatoolbox"), *map(str, arguments), "--json", "--progress", str(self.progress_path)],
            stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
            env={**os.environ, **dict(env)})
        self.output, self.errors = "", ""
        self.readers = [threading.Thread(target=self._read_progress, daemon=True),
                        threading.Thread(target=self._read_output, daemon=True),
                        threading.Thread(target=self._read_errors, daemon=True)]
        for reader in self.readers:
            reader.start()
        test.addCleanup(self.kill)

    def _read_progress(self):
        # Not with open: a command that is refused never opens the other end.
        descriptor = os.open(self.progress_path, os.O_RDONLY | os.O_NONBLOCK)
        text = b""
        while True:
            try:
                piece = os.read(descriptor, 65536)
            except BlockingIOError:
                piece = b""
            if not piece:
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
                continue
            text += piece
            *lines, text = text.split(b"\n")
            self.progress += [json.loads(line) for line in lines if line]
        os.close(descriptor)
        self.progress_path.unlink(missing_ok=True)

    def _read_output(self):
        for line in self.process.stdout:
            self.output += line

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors += line

    def latest(self):
        """The latest progress; empty before the first."""
        return self.progress[-1] if self.progress else {}

    def wait_for(self, is_so, what, limit=PATIENCE):
        """Waits until the progress is so."""
        def check():
            if self.process.poll() is not None:
                raise AssertionError(f"the command has ended before {what}: {self.errors}{self.output}")
            return self.progress and is_so(self.latest())
        try:
            wait_until(check, what, limit)
        except AssertionError as error:
            raise AssertionError(f"{error}; {self.latest()}; {self.errors}") from None
        return self.latest()

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGINT):
        """Ends the command with a signal, and returns its document."""
        if number is not None:
            self.send(number)
        return self.result()

    def result(self, status=0, limit=PATIENCE):
        """Waits for the end, and returns the document."""
        try:
            self.process.wait(limit)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end: {self.errors}; {self.latest()}") from None
        for reader in self.readers:
            reader.join(PATIENCE)
        if self.process.returncode != status:
            raise AssertionError(f"it ended with {self.process.returncode}: {self.errors}{self.output}")
        return json.loads(self.output)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for reader in self.readers:
            reader.join(PATIENCE)
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()


class Terminal:
    """A command in a terminal of its own, whose keys a test presses."""

    def __init__(self, test, *arguments):
        self.shown = b""
        self.process, self.leader = pty.fork()
        if self.process == 0:
            program = str(PROGRAMS / "vatoolbox")
            os.execv(program, [program, *map(str, arguments)])
        test.addCleanup(self.close)

    def press(self, key):
        os.write(self.leader, key.encode())

    def wait_for(self, text, limit=PATIENCE):
        """Waits until the command shows a text, and forgets what it has shown."""
        end = time.monotonic() + limit
        while text.encode() not in self.shown:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.leader], [], [], left)[0]:
                raise AssertionError(f"it does not show {text!r}: {self.shown!r}")
            self.shown += self._read()
        self.shown = b""

    def _read(self):
        try:
            piece = os.read(self.leader, 65536)
        except OSError:
            piece = b""
        if not piece:
            raise AssertionError(f"it has ended: {self.shown!r}")
        return piece

    def result(self):
        """Waits for the end, and returns the status and what was shown."""
        try:
            while True:
                self.shown += self._read()
        except AssertionError:
            pass
        _, status = os.waitpid(self.process, 0)
        self.process = None
        return os.waitstatus_to_exitcode(status), self.shown.decode(errors="replace")

    def close(self):
        if self.process is not None:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        os.close(self.leader)


def refused(*arguments, env=()):
    """Runs a command that must refuse its arguments; returns what it says."""
    done = subprocess.run([str(PROGRAMS / "vatoolbox"), *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, **dict(env)}, check=False)
    assert done.returncode in (1, 2), f"it ended with {done.returncode}: {done.stdout}{done.stderr}"
    return done.returncode, done.stderr


# --- What is in a file or a stream ---

def probe(path):
    """What ffprobe tells of a file."""
    command = ["ffprobe", "-v", "error", "-count_frames", "-show_format", "-show_streams", "-of", "json", str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def stream(found, kind):
    """The first stream of a kind."""
    return next(one for one in found["streams"] if one["codec_type"] == kind)


def packets(path):
    """The packets of the video, in the order of the file."""
    command = ["ffprobe", "-v", "quiet", "-select_streams", "v", "-show_entries", "packet=dts_time,flags", "-of", "json",
               str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["packets"]


def decode_errors(path):
    """What ffmpeg complains about while it decodes a whole file."""
    # Formats without times: others complain about pictures that are rounded to the same tick of a constant rate.
    kinds = {one["codec_type"] for one in probe(path)["streams"]}
    outputs = ["-map", "0:v", "-f", "rawvideo", "/dev/null"] if "video" in kinds else []
    outputs += ["-map", "0:a", "-f", "s16le", "/dev/null"] if "audio" in kinds else []
    done = subprocess.run(["ffmpeg", "-v", "error", "-xerror", "-y", "-i", str(path), *outputs], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, check=False)
    return done.stderr if done.returncode == 0 else done.stderr or f"status {done.returncode}"


def flashes(path, region="iw/4:ih/4:0:0", threshold=128):
    """The times at which the corner of the picture becomes white."""
    command = ["ffmpeg", "-v", "info", "-i", str(path), "-vf", f"crop={region},scale=1:1,format=gray,showinfo", "-f",
               "rawvideo", "-fps_mode", "passthrough", "-copyts", "-"]
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=True)
    times = [float(time) for time in re.findall(rb"pts_time:([0-9.-]+)", done.stderr)]
    levels = list(done.stdout)
    assert len(times) == len(levels), (len(times), len(levels))
    return [times[index] for index in range(1, len(levels))
            if levels[index] >= threshold > levels[index - 1]], times


def beeps(path, rate=48000, threshold=500):
    """The times at which a beep begins after silence."""
    start = float(stream(probe(path), "audio").get("start_time", 0))
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-map", "0:a:0", "-ac", "1", "-ar", str(rate), "-f", "s16le", "-"]
    data = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=True).stdout
    samples = memoryview(data[:len(data) // 2 * 2]).cast("h")
    found, quiet = [], rate
    for index, sample in enumerate(samples):
        if abs(sample) > threshold:
            if quiet > rate // 5:
                found.append(start + index / rate)
            quiet = 0
        else:
            quiet += 1
    return found


def offsets(path):
    """For each flash, how much later its beep is, in seconds; flashes at the borders of the file have none."""
    lights, _ = flashes(path)
    sounds = beeps(path)
    assert lights and sounds, (lights, sounds)
    last = max(sounds)
    found = []
    for light in lights:
        if light < 0.5 or light > last - 0.5:
            continue
        nearest = min(sounds, key=lambda sound: abs(sound - light))
        found.append(nearest - light)
    return found


# --- The other side ---

def free_port():
    """A port of this machine that nobody uses."""
    import socket
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Program:
    """A program of the other side, which ends with the test."""

    def __init__(self, test, *command, **more):
        self.command, self.more = list(map(str, command)), more
        self.process = None
        self.start()
        test.addCleanup(self.kill)

    def start(self):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **self.more}
        self.process = subprocess.Popen(self.command, **options)

    def kill(self, number=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)


class Nginx:
    """nginx with its RTMP module, which records what it gets."""

    MODULES = ("/usr/lib/nginx/modules/ngx_rtmp_module.so", "/usr/share/nginx/modules/ngx_rtmp_module.so")

    def __init__(self, test, folder):
        self.folder = folder.path / "nginx"
        self.records = self.folder / "records"
        self.records.mkdir(parents=True)
        self.folder.chmod(0o755)
        self.records.chmod(0o777)
        folder.path.chmod(0o755)
        self.port = free_port()
        module = next(path for path in self.MODULES if os.path.exists(path))
        (self.folder / "nginx.conf").write_text(f"""
            load_module {module};
            daemon off; master_process off; user root; error_log {self.folder}/error.log; pid {self.folder}/pid;
            events {{}}
            rtmp {{ server {{ listen 127.0.0.1:{self.port};
                application live {{ live on; record all; record_path {self.records}; record_unique on; }}
                application closed {{ live on; deny publish all; }} }} }}
        """)
        self.program = Program(test, "nginx", "-p", self.folder, "-c", self.folder / "nginx.conf")
        self.wait()

    def wait(self):
        import socket
        def answers():
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            except OSError:
                return False
        wait_until(answers, "nginx answers")

    def restart(self):
        self.program.start()
        self.wait()

    def url(self, application="live", key="key"):
        return f"rtmp://127.0.0.1:{self.port}/{application}/{key}"

    def recordings(self):
        return sorted(self.records.glob("*.flv"), key=lambda path: path.stat().st_mtime_ns)


class Screen:
    """An X server without a screen."""

    def __init__(self, test, size="640x480"):
        reading, writing = os.pipe()
        self.process = subprocess.Popen(["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{size}x24", "-nolisten", "tcp"],
                                        pass_fds=[writing], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(writing)
        test.addCleanup(self.kill)
        with os.fdopen(reading) as numbers:
            self.name = ":" + numbers.readline().strip()
        assert self.name != ":", "Xvfb has ended"

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class SoundServer:
    """A PulseAudio server with a sink that nobody hears."""

    SINK = "nowhere"

    def __init__(self, test, folder):
        self.folder = folder.path / "pulse"
        self.folder.mkdir()
        self.address = f"unix:{self.folder}/socket"
        command = ["pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "--disable-shm=yes",
                   "-L", f"module-native-protocol-unix auth-anonymous=1 socket={self.folder}/socket",
                   "-L", f"module-null-sink sink_name={self.SINK} rate=48000"]
        environment = {**os.environ, "HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder),
                       "PULSE_RUNTIME_PATH": str(self.folder)}
        self.program = Program(test, *command, env=environment)
        wait_until(lambda: (self.folder / "socket").exists(), "the sound server")

    @property
    def environment(self):
        return {"PULSE_SERVER": self.address}


class PipeWire:
    """A PipeWire server and its session manager, in a folder of their own, without devices."""

    def __init__(self, test, folder):
        self.test = test
        self.folder = folder.path / "pipewire"
        self.folder.mkdir()
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder),
                            "XDG_STATE_HOME": str(self.folder / "state")}
        command = ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address=unix:path={self.folder}/bus"]
        Program(test, *command, env=self.environment)
        wait_until((self.folder / "bus").exists, "the session bus")
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={self.folder}/bus"
        Program(test, "pipewire", env=self.environment)
        wait_until((self.folder / "pipewire-0").exists, "the PipeWire server")
        Program(test, "wireplumber", env=self.environment)

    def source(self, *settings):
        """A source of pictures, as Tests/CaptureTests/PipeWire/Producer describes its settings."""
        return PictureSource(self.test, self, *settings)


class PictureSource:
    """A node of PipeWire that delivers numbered pictures, and what it says of them."""

    def __init__(self, test, server, *settings):
        command = [PROGRAMS / "PipeWireProducer", f"remote={server.folder}/pipewire-0", "picture=number", "tell=times",
                   *settings]
        self.program = Program(test, *command, env=server.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True)
        self.lines = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        test.addCleanup(self.close)
        self.node = wait_until(lambda: next((line[5:] for line in self.lines if line.startswith("node ")), None), "a node")

    def _read(self):
        for line in self.program.process.stdout:
            self.lines.append(line.strip())

    def close(self):
        self.program.kill()
        self.reader.join(PATIENCE)
        self.program.process.stdin.close()
        self.program.process.stdout.close()

    @property
    def formats(self):
        """What was negotiated, one after the other: `BGRx dmabuf` or `BGRx memory`."""
        return [line[7:] for line in self.lines if line.startswith("format ")]

    @property
    def times(self):
        """The time of each picture in seconds, by its number."""
        words = [line.split() for line in self.lines if line.startswith("picture ")]
        return {int(number): int(time) / 1e9 for _, number, time in words}
