// SPDX-License-Identifier: GPL-2.0-or-later
// The pure functions of the dashboard, in the page itself. The value is a list of what is wrong.
(async () => {
  const problems = [];
  const [format, stream, request, tracks, jobs, api] = await Promise.all(
    ["format", "stream", "request", "tracks", "jobs", "api"].map(name => import(`/dashboard/${name}.js`)));
  const same = (what, got, wanted) => {
    if (JSON.stringify(got) !== JSON.stringify(wanted))
      problems.push(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
  };

  for (const [call, wanted] of [
    [() => format.bytes(0), "0 B"], [() => format.bytes(999), "999 B"], [() => format.bytes(1536), "1.54 kB"],
    [() => format.bytes(999_600), "1 MB"], [() => format.bytes(412e9), "412 GB"],
    [() => format.bytes(undefined), "–"],
    [() => format.bytes(NaN), "–"], [() => format.bitRate(5_120_000), "5.12 Mbit/s"],
      [() => format.bitRate(800), "800 bit/s"],
    [() => format.clock(0), "0:00"], [() => format.clock(59.6), "1:00"], [() => format.clock(3725), "1:02:05"],
    [() => format.span(0.04), "0 s"], [() => format.span(9.94), "9.9 s"], [() => format.span(9.96), "10 s"],
    [() => format.span(59.7), "1 min"], [() => format.span(3600), "1 h"], [() => format.span(90000), "1 d 1 h"],
    [() => format.percent(0.999), "99 %"], [() => format.percent(1), "100 %"], [() => format.percent(-1), "0 %"],
    [() => format.speed(0.456), "0.46×"], [() => format.speed(123.4), "123×"],
    [() => format.frameRate("30000/1001"), "29.97 fps"], [() => format.frameRate("25"), "25 fps"],
    [() => format.frameRate("odd"), "odd"], [() => format.lastComponent("https://a.example/b/c.mov?x=/y"), "c.mov"],
    [() => format.lastComponent("a/b/"), "b"], [() => format.plural(1, "job"), "1 job"],
      [() => format.plural(2, "job"), "2 jobs"],
    [() => format.ago("2026-01-01T00:00:00Z", Date.parse("2026-01-01T00:05:59Z")), "5 min ago"],
    [() => api.address("/v1/jobs", {state: "", limit: 5, label: ["a:b", "c:d&e"]}),
      "/v1/jobs?limit=5&label=a%3Ab&label=c%3Ad%26e"],
  ]) same(String(call), call(), wanted);

  // A stream in pieces of every size gives the same events, with each kind of line end.
  for (const end of ["\n", "\r\n", "\r"]) {
    const text = [": hello", "", "id: 7", "event: progress", "data: {\"a\":1}", "", "data: x", "data:  y", "id", "",
      "event: z",
      "", "id: 8", "data: ü😀", "", "data: never ended"].join(end);
    const wanted = [{type: "progress", data: "{\"a\":1}", id: "7"}, {type: "message", data: "x\n y", id: ""},
      {type: "message", data: "ü😀", id: "8"}];
    for (let size = 1; size <= text.length; size += 1) {
      const parser = new stream.EventParser();
      const events = [];
      for (let place = 0; place < text.length; place += size) events.push(...parser.push(text.slice(place,
        place + size)));
    
      same(`events of ${JSON.stringify(end)} in pieces of ${size}`, events, wanted);
    }
  }
  same("pauses", [0, 1, 2, 9].map(failures => stream.pause(failures, 1)), [500, 1000, 2000, 15000]);
  same("the shortest pause", stream.pause(0, 0), 250);

  const make = (changes, report) => request.makeRequest({...request.FIRST_FORM, ...changes}, {upload: "u"},
    "My clip.mov", report);
  same("a first form", make({}).request, {input: {upload: "u"}, outputs: [{kind: "file", name: "My clip.mp4",
    video: {codec: "auto"}, audio: {codec: "auto"}, preview: true}], queue: "default", priority: 50, labels: {},
  device: "auto", requireHardware: false});
  same("a ladder", make({kind: "hls", rungs: [360, 1080]}).request.outputs[0], {kind: "hls", name: "My clip.m3u8",
    video: {codec: "auto"}, audio: {codec: "auto"}, ladder: [{height: 1080}, {height: 360}]});
  same("no rung", Object.keys(make({kind: "hls", rungs: []}).errors), ["rungs"]);
  same("quality", make({rate: "quality", quality: "20,5"}).request.outputs[0].video, {codec: "auto", quality: 20.5});
  same("a wrong quality", Object.keys(make({rate: "quality", quality: "52"}).errors), ["quality"]);
  same("a bit rate", make({rate: "bitRate", bitRate: "2.5"}).request.outputs[0].video.bitRate, 2500000);
  same("a height", make({height: "720"}).request.outputs[0].video, {codec: "auto", height: 720});
  const turned = {tracks: [{kind: "video", width: 1920, height: 1080, rotation: 90}]};
  same("a size", make({height: "720"}, {tracks: [{kind: "video", width: 1920, height: 1080}]}).request.outputs[0].video,
    {codec: "auto", width: 1280, height: 720});
  same("the size of a film on its side", make({height: "1280"}, turned).request.outputs[0].video.width, 720);
  same("a part", make({start: "1:30", duration: "2.5"}).request.input, {upload: "u", start: 90, duration: 2.5});
  same("wrong times", Object.keys(make({start: "soon", duration: "-1"}).errors), ["start", "duration"]);
  same("labels", make({labels: "customer: blue\n\nset=a b"}).request.labels, {customer: "blue", set: "a b"});
  same("wrong labels", Object.keys(make({labels: "no label"}).errors), ["labels"]);
  same("priorities", ["-1", "101", "5.5", ""].map(priority => Object.keys(make({priority}).errors ?? {})),
    [["priority"], ["priority"], ["priority"], ["priority"]]);
  same("a preset", make({preset: "web"}).request.outputs, []);
  same("a bad name", Object.keys(make({name: "a/b"}).errors), ["name"]);
  same("a name", make({name: "show.MP4"}).request.outputs[0].name, "show.MP4");
  same("pictures", make({poster: true}).request.outputs[1].name, "My clip-%d.png");
  same("names of files", ["a/b\u0000c.mov", "..x", "", "no extension", ".hidden"].map(request.fileName),
    ["a_b_c.mov", "x", "file", "no extension", "hidden"]);
  same("long names", request.fileName("ü".repeat(300) + ".mov").length <= 200, true);
  same("free names", [request.freeName("a.mov", new Set()), request.freeName("a.mov", new Set(["a.mov", "a-2.mov"]))],
    ["a.mov", "a-3.mov"]);
  same("fitting rungs", [request.fittingRungs([1080, 720], {tracks: [{kind: "video", height: 720}]}),
    request.fittingRungs([1080], {tracks: [{kind: "video", height: 200}]}), request.fittingRungs([1080], undefined)],
  [[720], [360], [1080]]);

  same("remedies", [jobs.remedyParts("Do this: sudo usermod -aG render me"), jobs.remedyParts("Wait: it ends soon?"),
    jobs.remedyParts("Nothing to copy")],
  [{text: "Do this:", command: "sudo usermod -aG render me"}, {text: "Wait:", command: "it ends soon?"},
    {text: "Nothing to copy"}]);
  same("actions", ["waiting", "running", "succeeded", "failed", "cancelled"].map(state =>
    Object.values(jobs.ACTIONS).map(action => action.allows({state}))),
  [[false, true, false], [false, true, false], [false, false, true], [true, false, true], [true, false, true]]);
  const list = tracks.results({outputs: [{name: "a.mp4", result: {output: {path: "a.mp4", format: "mp4", bytes: 10},
    encoder: {codec: "h264"}, audio: [], duration: 2}}, {name: "b.png"}]});
  same("results", list.map(one => one.name), ["a.mp4"]);
  same("a comparison without an input", tracks.comparison(undefined, list).map(row => [row.name, row.cells[1]]),
    [["Container", "mp4"], ["File size", "10 B"], ["Duration", "0:02"], ["Video", "H.264"]]);
  return problems;
})()
