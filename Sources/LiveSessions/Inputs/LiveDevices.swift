// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
public import Capture
public import MediaTypes

extension LiveInput {
    /// The kinds of devices that deliver pictures.
    public static let pictureKinds = ["x11", "v4l2", "pipewire", "test"]
    /// The kinds of devices that deliver sound.
    public static let soundKinds = ["pulse", "alsa", "test"]

    /// Makes an input of pictures from an address such as `x11::0` or `v4l2:/dev/video0,size=1280x720`.
    ///
    /// - Throws: `invalidArgument` for a kind that does not exist, and for its options.
    public static func pictures(_ address: DeviceAddress, name: String) throws(MediaError) -> LiveInput {
        try pictures(address, name: name, screen: 1)
    }

    /// Makes inputs of pictures that are used together. The desktop remembers a permission for each screen of its portal.
    ///
    /// - Throws: As ``pictures(_:name:)``.
    public static func pictures(_ addresses: [DeviceAddress], names: [String]) throws(MediaError) -> [LiveInput] {
        var (inputs, screens): ([LiveInput], Int) = ([], 0)
        for (address, name) in zip(addresses, names) {
            if PipeWireStream.isScreen(address) { screens += 1 }
            inputs.append(try pictures(address, name: name, screen: max(screens, 1)))
        }
        return inputs
    }

    private static func pictures(
        _ address: DeviceAddress,
        name: String,
        screen: Int
    ) throws(MediaError) -> LiveInput {
        switch address.kind {
        case "test":
            let request = try TestChart.Request(address)
            return .pictures(name: name) { stop throws(MediaError) in try TestChart(request, stop: stop) }
        case "x11":
            let request = try X11Screen.Request(address)
            return .pictures(name: name) { stop throws(MediaError) in try X11Screen(request, stop: stop) }
        case "v4l2":
            let request = try V4L2Camera.Request(address)
            guard request.format != .h264 else {
                return .codedPictures(name: name) { stop throws(MediaError) in
                    try V4L2CodedCamera(request, stop: stop)
                }
            }
            return .pictures(name: name) { stop throws(MediaError) in try V4L2Camera(request, stop: stop) }
        case "pipewire":
            let memory = PictureMemory()
            let open = try PipeWireStream.opening(address, screen: screen, memory)
            return .pictures(name: name, memory: memory) { stop throws(MediaError) in try open(stop) }
        default: throw unknown(address, pictureKinds, "pictures")
        }
    }

    /// Makes an input of sound from addresses such as `pulse:default` or `alsa:hw:0`, which are mixed if there are several.
    ///
    /// - Throws: `invalidArgument` without an address, for a kind that does not exist, and for its options.
    public static func sound(_ addresses: [DeviceAddress], names: [String]) throws(MediaError) -> LiveInput {
        var parts: [SoundMix.Part] = []
        for (address, name) in zip(addresses, names) { parts.append(try SoundMix.Part(address, name: name)) }
        guard let first = parts.first else {
            throw MediaError(.invalidArgument, "a mix has no devices", allowed: "one or more")
        }
        return parts.count == 1 && first.gain == 0 ? .sound(name: first.name, open: first.open) : .mix(parts)
    }

    fileprivate static func unknown(_ address: DeviceAddress, _ kinds: [String], _ what: String) -> MediaError {
        MediaError(
            .invalidArgument,
            "no device of this kind delivers \(what)",
            given: address.kind,
            allowed: kinds.joined(separator: ", ")
        )
    }
}

extension SoundMix.Part {
    /// The device that an address means.
    init(_ address: DeviceAddress, name: String) throws(MediaError) {
        let common = ["gain"]
        switch address.kind {
        case "test":
            let options = try address.options(common + ["frequency", "level"])
            var request = ToneSource.Request()
            if let text = options["frequency"] {
                request.frequency = try OptionValue.number(text, 20...20_000, option: "frequency")
            }
            if let text = options["level"] { request.level = try OptionValue.number(text, -100...0, option: "level") }
            let tone = request
            self.init(name: name) { stop throws(MediaError) in try ToneSource(tone, stop: stop) }
            gain = try Self.gain(options)
        case "pulse":
            let options = try address.options(common + ["server", "rate", "channels"])
            var request = PulseSource.Request(
                PulseSource.Request.Source(address.name.isEmpty ? "default" : address.name),
                server: options["server"]
            )
            if let text = options["rate"] { request.sampleRate = try OptionValue.rate(ofSound: text) }
            if let text = options["channels"] { request.channelCount = try OptionValue.channels(text) }
            let pulse = request
            self.init(name: name) { stop throws(MediaError) in try PulseSource(pulse, stop: stop) }
            gain = try Self.gain(options)
        case "alsa":
            let options = try address.options(common + ["rate", "channels"])
            var request = ALSASource.Request(address.name.isEmpty ? "default" : address.name)
            if let text = options["rate"] { request.sampleRate = try OptionValue.rate(ofSound: text) }
            if let text = options["channels"] { request.channelCount = try OptionValue.channels(text) }
            let alsa = request
            self.init(name: name) { stop throws(MediaError) in try ALSASource(alsa, stop: stop) }
            gain = try Self.gain(options)
        default: throw LiveInput.unknown(address, LiveInput.soundKinds, "sound")
        }
    }

    private static func gain(_ options: [String: String]) throws(MediaError) -> Double {
        guard let text = options["gain"] else { return 0 }
        return try OptionValue.number(text, -100...100, option: "gain")
    }
}

extension OptionValue {
    fileprivate static func rate(ofSound text: String) throws(MediaError) -> Int {
        Int(try number(text, 8000...192_000, option: "rate"))
    }

    fileprivate static func channels(_ text: String) throws(MediaError) -> Int {
        Int(try number(text, 1...8, option: "channels"))
    }
}

extension TestChart.Request {
    /// The chart that an address of the kind `test` means.
    fileprivate init(_ address: DeviceAddress) throws(MediaError) {
        self.init()
        let options = try address.options(TestChart.options)
        if let text = options["size"] { (width, height) = try OptionValue.size(text, option: "size") }
        if let text = options["rate"] { frameRate = try OptionValue.rate(text, option: "rate") }
    }
}

extension X11Screen.Request {
    /// The screen that an address such as `x11::0,region=640x480+10+20` means.
    fileprivate init(_ address: DeviceAddress) throws(MediaError) {
        self.init()
        // A display is mostly written without its colon: x11:0.
        let isNumber = !address.name.isEmpty && address.name.allSatisfy { $0.isNumber || $0 == "." }
        if !address.name.isEmpty { display = isNumber ? ":" + address.name : address.name }
        let areas = ["monitor", "region", "window"]
        let options = try address.options(["cursor", "rate"] + areas)
        let given = areas.filter { options[$0] != nil }
        guard given.count < 2 else {
            throw MediaError(
                .invalidArgument,
                "a screen has several areas",
                given: given.joined(separator: ", "),
                allowed: "one of \(areas.joined(separator: ", "))"
            )
        }
        if let text = options["cursor"] { drawsCursor = try OptionValue.flag(text, option: "cursor") }
        if let text = options["rate"] { frameRate = try OptionValue.rate(text, option: "rate") }
        if let text = options["monitor"] { area = .monitor(text) }
        if let text = options["region"] { area = try Self.region(text) }
        if let text = options["window"] {
            let digits = text.hasPrefix("0x") ? text.dropFirst(2) : text[...]
            let number = UInt32(digits, radix: text.hasPrefix("0x") ? 16 : 10)
            area = number.map { .window($0) } ?? .windowTitled(text)
        }
    }

    /// A region as X11 writes it: `640x480+10+20`.
    private static func region(_ text: String) throws(MediaError) -> Area {
        let parts = text.split(separator: "+", omittingEmptySubsequences: false).map(String.init)
        let place = parts.dropFirst().map { Int($0) }
        guard parts.count == 3, let x = place[0], let y = place[1] else {
            throw .option("region", text, allowed: "WIDTHxHEIGHT+X+Y, such as 640x480+10+20")
        }
        let size = try OptionValue.size(parts[0], option: "region")
        return .region(x: x, y: y, width: size.width, height: size.height)
    }
}

extension PipeWireStream {
    /// Opens a stream, as often as it is gone.
    fileprivate typealias Opening = @Sendable (StopSignal) throws(MediaError) -> PipeWireStream

    /// Whether an address means a screen that the user chooses.
    fileprivate static func isScreen(_ address: DeviceAddress) -> Bool {
        address.kind == "pipewire" && address.name.isEmpty
    }

    /// What an address means: `pipewire` the screen that the user chooses, `pipewire:camera` the camera that the
    /// session manager prefers, `pipewire:57` or `pipewire:NAME` a node.
    ///
    /// - Parameters:
    ///   - screen: The number of the screen among those of a command, from 1.
    ///   - memory: The memory in which pictures are wanted.
    fileprivate static func opening(
        _ address: DeviceAddress,
        screen: Int,
        _ memory: PictureMemory
    ) throws(MediaError) -> Opening {
        guard isScreen(address) else {
            let request = try Request(address)
            return { stop throws(MediaError) in try PipeWireStream(request.in(memory), stop: stop) }
        }
        let options = try address.options(["cursor", "rate", "sources", "token"])
        var capture = Request()
        if let text = options["rate"] { capture.frameRate = try OptionValue.rate(text, option: "rate") }
        // One portal for all openings: it remembers what the user has said.
        let portal = ScreenCastPortal(try ScreenCastPortal.Request(options, screen: screen))
        let request = capture
        return { stop throws(MediaError) in try portal.open(request.in(memory), stop: stop) }
    }
}

extension PipeWireStream.Request {
    /// The node that an address such as `pipewire:57,size=1280x720` means.
    fileprivate init(_ address: DeviceAddress) throws(MediaError) {
        let target: Target =
            if address.name == "camera" {
                .preferred
            } else if let number = UInt32(address.name) {
                .node(number)
            } else {
                .named(address.name)
            }
        self.init(target)
        let options = try address.options(["rate", "size"])
        if let text = options["size"] {
            let parsed = try OptionValue.size(text, option: "size")
            size = Size(width: parsed.width, height: parsed.height)
        }
        if let text = options["rate"] { frameRate = try OptionValue.rate(text, option: "rate") }
    }

    fileprivate func `in`(_ memory: PictureMemory) -> Self {
        var request = self
        request.modifiers = memory.modifiers
        return request
    }
}

extension ScreenCastPortal.Request {
    /// What the user is asked for by the options of an address such as `pipewire,sources=window,cursor=off`.
    fileprivate init(_ options: [String: String], screen: Int) throws(MediaError) {
        self.init()
        if let text = options["cursor"] { drawsCursor = try OptionValue.flag(text, option: "cursor") }
        switch options["sources"] {
        case nil: break
        case "monitor": sources = .monitor
        case "window": sources = .window
        case let text?: throw .option("sources", text, allowed: "monitor, window")
        }
        let keepsToken = try options["token"].map { text throws(MediaError) in
            try OptionValue.flag(text, option: "token")
        }
        if keepsToken ?? true {
            // A token is for one choice of the user: screens that shared one would take it from each other.
            tokenPath = Self.usualTokenPath.map { screen == 1 ? $0 : "\($0)-\(screen)" }
        } else {
            persistence = .whileRunning
        }
    }
}

extension V4L2Camera.Request {
    /// What begins the name of an option that sets a control.
    private static let controlPrefix = "set-"

    /// The camera that an address such as `v4l2:/dev/video0,size=1280x720,set-brightness=10` means.
    fileprivate init(_ address: DeviceAddress) throws(MediaError) {
        var plain = address
        plain.options.removeAll { $0.name.hasPrefix(Self.controlPrefix) }
        let options = try plain.options(["format", "id", "rate", "size"])
        let selector: V4L2Camera.Selector =
            if let id = options["id"] {
                .id(id)
            } else if address.name.isEmpty {
                .first
            } else {
                address.name.hasPrefix("/") ? .path(address.name) : .name(address.name)
            }
        self.init(camera: selector)
        if let text = options["size"] {
            let parsed = try OptionValue.size(text, option: "size")
            size = Size(parsed.width, parsed.height)
        }
        if let text = options["rate"] { frameRate = try OptionValue.rate(text, option: "rate") }
        if let text = options["format"] {
            let formats = V4L2Camera.FormatPreference.allCases
            guard let format = formats.first(where: { $0.rawValue == text }) else {
                throw .option("format", text, allowed: formats.map(\.rawValue).joined(separator: ", "))
            }
            self.format = format
        }
        for option in address.options where option.name.hasPrefix(Self.controlPrefix) {
            let name = String(option.name.dropFirst(Self.controlPrefix.count))
            settings.append(V4L2Camera.Setting(name, .text(option.value)))
        }
    }
}
