# SPDX-License-Identifier: GPL-2.0-or-later
"""H.264 streams that no encoder at hand makes: field pictures, long-term references, every kind of marking and list
modification. They are put together from slice data of CAVLC streams of x264, under headers of our own: such data mean
something in any picture of the same size, whatever the pictures before it show."""

import random
import subprocess
from collections import namedtuple

MAX_FRAME_NUM = 16  # 4 bits, so that they wrap
P, B, I = 0, 1, 2

Slice = namedtuple("Slice", "kind counts bits qp direct_8x8")
# A frame that is a reference: its number, the fields of it that are references, and its long-term index or None.
Held = namedtuple("Held", "frame_num fields long poc")


class Reader:
    def __init__(self, data):
        self.bits = "".join(f"{byte:08b}" for byte in data)
        self.at = 0

    def u(self, count):
        self.at += count
        return int(self.bits[self.at - count:self.at] or "0", 2)

    def ue(self):
        zeros = self.bits.index("1", self.at) - self.at
        self.at += zeros
        return self.u(zeros + 1) - 1

    def se(self):
        code = self.ue()
        return (code + 1) // 2 if code % 2 else -(code // 2)


class Writer:
    def __init__(self):
        self.parts = []

    def u(self, value, count):
        if count:
            self.parts.append(f"{value:0{count}b}")
        return self

    def ue(self, value):
        text = f"{value + 1:b}"
        self.parts.append("0" * (len(text) - 1) + text)
        return self

    def se(self, value):
        return self.ue(2 * value - 1 if value > 0 else -2 * value)

    def nal(self):
        text = "".join(self.parts) + "1"
        text += "0" * (-len(text) % 8)
        out, zeros = bytearray(b"\0\0\0\1"), 0
        for byte in int(text, 2).to_bytes(len(text) // 8, "big"):
            if zeros >= 2 and byte <= 3:
                out.append(3)
                zeros = 0
            out.append(byte)
            zeros = 0 if byte else zeros + 1
        return bytes(out)


def nal_units(stream):
    for part in stream.split(b"\0\0\1")[1:]:
        yield part.rstrip(b"\0")


def slices_of(stream):
    """Slices of a stream of x264 with CAVLC, one slice in a picture, pic_order_cnt_type 0 or 2."""
    found = []
    for nal in nal_units(stream):
        kind, reference = nal[0] & 31, nal[0] >> 5
        reader = Reader(nal.replace(b"\0\0\3", b"\0\0"))
        reader.u(8)
        if kind == 7:
            sps = read_sps(reader)
        elif kind == 8:
            pps = read_pps(reader)
        elif kind in (1, 5):
            found.append(read_slice(reader, kind == 5, reference, sps, pps))
    return found


def read_sps(reader):
    profile = reader.u(8)
    reader.u(16), reader.ue()
    if profile == 100:
        assert reader.ue() == 1 and reader.ue() == 0 and reader.ue() == 0 and reader.u(2) == 0
    sps = {"frame_num": reader.ue() + 4, "poc_type": reader.ue()}
    if sps["poc_type"] == 0:
        sps["poc"] = reader.ue() + 4
    reader.ue(), reader.u(1), reader.ue(), reader.ue()
    sps["frames_only"] = reader.u(1)
    return sps


def read_pps(reader):
    reader.ue(), reader.ue()
    assert reader.u(1) == 0, "CABAC"
    pps = {"pic_order": reader.u(1)}
    reader.ue()
    pps["counts"] = [reader.ue() + 1, reader.ue() + 1]
    pps["weights"] = reader.u(3)
    pps["qp"] = 26 + reader.se()
    reader.se(), reader.se()
    pps["deblocking"] = reader.u(1)
    assert reader.u(2) == 0
    pps["transform_8x8"] = reader.u(1) if reader.bits[reader.at:].rstrip("0") != "1" else 0
    return pps


def read_slice(reader, idr, reference, sps, pps):
    assert reader.ue() == 0, "one slice"
    kind = reader.ue() % 5
    reader.ue(), reader.u(sps["frame_num"])
    if not sps["frames_only"]:
        assert reader.u(1) == 0
    if idr:
        reader.ue()
    if sps["poc_type"] == 0:
        reader.u(sps["poc"])
        if pps["pic_order"]:
            reader.se()
    counts = list(pps["counts"])
    if kind == B:
        reader.u(1)
    if kind != I and reader.u(1):
        counts[0] = reader.ue() + 1
        if kind == B:
            counts[1] = reader.ue() + 1
    for _ in range({I: 0, P: 1, B: 2}[kind]):
        if reader.u(1):
            while reader.ue() != 3:
                reader.ue()
    assert pps["weights"] in (0, 2), "no explicit weights"
    if reference:
        if idr:
            reader.u(2)
        elif reader.u(1):
            while operation := reader.ue():
                assert operation == 1
                reader.ue()
    qp = pps["qp"] + reader.se()
    if pps["deblocking"] and reader.ue() != 1:
        reader.se(), reader.se()
    end = reader.bits.rindex("1")
    return Slice(kind, counts, reader.bits[reader.at:end], qp, pps["transform_8x8"])


def encode(size, options, frames=60):
    """A stream of x264 with CAVLC."""
    command = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i",
               f"testsrc2=size={size[0]}x{size[1]}:rate=25,noise=alls=9:allf=t:all_seed=7", "-frames:v", str(frames),
               "-c:v", "libx264", "-x264-params",
               f"cabac=0:weightp=0:weightb=0:scenecut=0:slices=1:threads=1:8x8dct=1:b-adapt=0:{options}", "-f", "h264",
               "-"]
    return slices_of(subprocess.run(command, check=True, capture_output=True).stdout)


class Remix:
    """A stream of frames and field pairs, with random lists and marking."""

    def __init__(self, size, seed, adaptive, most=4, frames=24, bipred=0, field_share=0.7):
        self.random = random.Random(seed)
        self.size, self.adaptive, self.most, self.bipred = size, adaptive, most, bipred
        self.columns, self.rows = (size[0] + 15) // 16, (size[1] + 31) // 32
        counts = f"ref={min(most, 4)}:keyint=8:bframes=2:b-pyramid=none"
        self.bags = {
            "field": encode((size[0], 16 * self.rows), counts),
            "frame": encode((size[0], 32 * self.rows), counts + (":interlaced=1:tff=1" if adaptive else "")),
        }
        self.held = []
        self.frame_num = self.poc_base = 0
        self.longs_allowed = self.reset = False
        self.idr_pic_id = 0
        self.out = [self.sps(), self.pps()]
        order = 0
        for n in range(frames):
            if n % 12 == 0:
                order = 0
            self.frame(n % 12 == 0, order, self.random.random() < field_share)
            order = 0 if self.reset else order
            self.reset = False
            order += 2 * self.random.randint(1, 3)
        self.stream = b"".join(self.out)

    def sps(self):
        writer = Writer().u(0x67, 8).u(100, 8).u(0, 8).u(51, 8).ue(0).ue(1).ue(0).ue(0).u(0, 2)
        writer.ue(0).ue(0).ue(4).ue(self.most).u(0, 1).ue(self.columns - 1).ue(self.rows - 1)
        writer.u(0, 1).u(int(self.adaptive), 1).u(1, 1).u(0, 1)
        # Frames are shown as they come, in whatever order: no client waits, or leaves any out.
        return writer.u(0, 1).nal()

    def pps(self):
        writer = Writer().u(0x68, 8).ue(0).ue(0).u(0, 1).u(1, 1).ue(0).ue(0).ue(0).u(0, 1).u(self.bipred, 2)
        return writer.se(0).se(0).se(-2).u(1, 1).u(0, 2).u(1, 1).u(0, 1).se(3).nal()

    def pick(self, bag, kinds, available):
        """Data of a slice of one of the kinds, which need not more entries than there may be."""
        most = 32 if bag == "field" else 16
        fitting = [slice_ for slice_ in self.bags[bag] if slice_.kind in kinds and max(slice_.counts) <= most]
        return self.random.choice(fitting if available else [s for s in self.bags[bag] if s.kind == I])

    def frame(self, idr, order, fields):
        reference = idr or self.random.random() < 0.7
        if idr:
            self.held, self.frame_num, self.longs_allowed = [], 0, False
            self.idr_pic_id ^= 1
        pocs = (order, order + 1) if self.random.random() < 0.5 else (order + 1, order)
        kinds = [I] if idr else self.random.choice([[P], [P], [P], [B], [B], [I]])
        if not fields:
            self.picture(idr, reference, None, pocs, kinds, None)
        else:
            first = 0 if pocs[0] < pocs[1] else 1
            current = self.picture(idr, reference, first, pocs, kinds, None)
            if kinds == [I]:
                kinds = self.random.choice([[I], [P]]) if reference else [I]
            self.picture(False, reference, 1 - first, pocs, kinds, current)
        if reference:
            self.frame_num = (self.frame_num + 1) % MAX_FRAME_NUM

    def candidates(self, field):
        """What may be in a list: held frames, with a field of each for field pictures."""
        if field is None:
            return [(held, None) for held in self.held if held.fields == 3]
        return [(held, parity) for held in self.held for parity in (0, 1) if held.fields >> parity & 1]

    def number(self, held, field, parity):
        """picNum or LongTermPicNum, 8.2.4.1."""
        value = held.long
        if value is None:
            value = held.frame_num - (MAX_FRAME_NUM if held.frame_num > self.frame_num else 0)
        return value if field is None else 2 * value + (parity == field)

    def modification(self, writer, count, field, candidates):
        most = MAX_FRAME_NUM if field is None else 2 * MAX_FRAME_NUM
        predicted = self.frame_num if field is None else 2 * self.frame_num + 1
        writer.u(1, 1)
        for _ in range(count):
            held, parity = self.random.choice(candidates)
            number = self.number(held, field, parity)
            if held.long is not None:
                writer.ue(2).ue(number)
                continue
            difference = (number - predicted) % most or most
            if self.random.random() < 0.5:
                writer.ue(1).ue(difference - 1)
            else:
                writer.ue(0).ue((most - difference or most) - 1)
            predicted = (predicted + difference) % most
        writer.ue(3)

    def marking(self, writer, field, current, kind):
        """Operations for the marking after this picture; the first picture of a frame makes room for it. What becomes
        a long-term reference between two B fields is left out: the driver cannot follow that (Limits in README.md)."""
        operations = Writer()
        randomly = self.random.random
        long = None
        if current is None and field is None and randomly() < 0.1:
            # Everything goes, and numbers begin anew after this picture, as after an IDR picture.
            operations.ue(5)
            self.held, self.longs_allowed, self.reset = [], False, True
        elif current is None:
            if randomly() < 0.25 and len(self.held) > 1 and (field is None or kind != B):
                held = self.random.choice([h for h in self.held if h.fields == 3] or [None])
                if held and held.long is None:
                    if not self.longs_allowed:
                        operations.ue(4).ue(self.most)
                        self.longs_allowed = True
                    index = next(i for i in range(self.most) if i not in [h.long for h in self.held])
                    for parity in (None,) if field is None else (0, 1):
                        operations.ue(3).ue(self.difference(held, field, parity)).ue(index)
                    self.held[self.held.index(held)] = held._replace(long=index)
            while len(self.held) >= self.most or (self.held and randomly() < 0.15):
                held = self.random.choice(self.held)
                for parity in (None,) if field is None else (0, 1):
                    if field is not None and not held.fields >> parity & 1:
                        continue
                    if held.long is None:
                        operations.ue(1).ue(self.difference(held, field, parity))
                    else:
                        operations.ue(2).ue(self.number(held, field, parity))
                self.held.remove(held)
            if randomly() < 0.15 and field is None:
                if not self.longs_allowed:
                    operations.ue(4).ue(self.most)
                    self.longs_allowed = True
                long = next(i for i in range(self.most) if i not in [h.long for h in self.held])
                operations.ue(6).ue(long)
        writer.u(1 if operations.parts else 0, 1)
        if operations.parts:
            writer.parts += operations.parts
            writer.ue(0)
        return long

    def difference(self, held, field, parity):
        current = self.frame_num if field is None else 2 * self.frame_num + 1
        return current - self.number(held, field, parity) - 1

    def picture(self, idr, reference, field, pocs, kinds, current):
        candidates = self.candidates(field)
        if not candidates or (kinds == [B] and all(held == current for held, _ in candidates)):
            kinds = [I]
        data = self.pick("frame" if field is None else "field", kinds, bool(candidates))
        writer = Writer().u((0x60 if reference else 0) | (5 if idr else 1), 8).ue(0).ue(data.kind).ue(0)
        writer.u(self.frame_num, 4).u(int(field is not None), 1)
        if field is not None:
            writer.u(field, 1)
        if idr:
            writer.ue(self.idr_pic_id)
        writer.u(pocs[field or 0] & 255, 8)
        if field is None:
            writer.se(pocs[1] - pocs[0])
        if data.kind == B:
            # Spatial direct prediction: the temporal one wants what the co-located picture refers to in its list.
            writer.u(1, 1)
        if data.kind != I:
            writer.u(1, 1).ue(data.counts[0] - 1)
            if data.kind == B:
                writer.ue(data.counts[1] - 1)
            self.modification(writer, data.counts[0], field, candidates)
            if data.kind == B:
                # libavcodec gets the second field wrong whose co-located one is the first field of its frame.
                others = [candidate for candidate in candidates if candidate[0] != current]
                self.modification(writer, data.counts[1], field, others)
        long = None
        if reference:
            if idr:
                writer.u(0, 2)
            else:
                long = self.marking(writer, field, current, data.kind)
        writer.se(data.qp - 26).ue(0).se(self.random.randint(-2, 2)).se(self.random.randint(-2, 2))
        writer.parts.append(data.bits)
        self.out.append(writer.nal())
        if self.reset:
            self.frame_num = 0
            pocs = tuple(poc - min(pocs) for poc in pocs)
        held = Held(self.frame_num, 3 if field is None else 1 << field, long, pocs)
        if not reference:
            return None
        if current is not None:
            held = current._replace(fields=3)
            self.held[self.held.index(current)] = held
        else:
            self.held.append(held)
        return held
