// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import MediaIO
internal import MediaTypes
internal import Streaming
internal import StreamingPlaylists

/// Cuts the units of a live stream into parts and segments, one rendition for each track, and lists them.
///
/// The video may have several renditions, each with a connection of its own. The last one, which is the smallest, leads:
/// the others are cut where it is cut, and its connection brings the audio.
///
/// It has neither a clock nor files of its own: the caller passes the time, and the store keeps what comes out. After
/// an error, and for a connection that is made again, ``begin(_:at:)`` continues the playlists with a discontinuity.
struct LivePackager {
    let options: HLSOptions
    private let store: any LiveStore
    private let token: String
    /// The names of the renditions of the video; none if there is one, or sound alone.
    private let names: [String]
    /// Those of the video in their order, then those of the audio.
    private var renditions: [Rendition] = []
    /// The tracks of the leading connection.
    private var tracks = LiveTracks(video: nil)
    /// The bitrate of each rendition of the video that was asked for.
    private var bitRates: [Int: Int] = [:]
    /// The other renditions of the video by their numbers.
    private var videos: [Int: VideoFollower] = [:]
    /// The renditions whose connection is open.
    private var open: Set<Int> = []
    /// The newest format of each of them.
    private var newest: [Int: FormatDescription] = [:]
    /// Whether an encoder of a ladder has other parameter sets, which the next segments state.
    private var isChangePending = false
    private var plan: PartPlan?
    private var description = MultivariantDescription()
    private var run: Run?
    /// The date at which the last connection has ended.
    private var lastDate: WallClockTime?
    private var formatHasChanged = false
    /// Whether a connection has ended as asked.
    private var isEnding = false
    private var isEnded = false

    /// The units of one connection.
    private struct Run {
        var planner: BoundaryPlanner
        var lead: LeadTrack
        var followers: [Follower]
        /// When the first unit came, and its time.
        let date: WallClockTime
        let start: MediaTime

        func date(at time: MediaTime) -> WallClockTime { date.advanced(by: time - start) }
    }

    /// - Parameters:
    ///   - token: What no other stream at this place has in the names of its files.
    ///   - renditions: The names of the renditions of the video; none if there is one.
    init(
        _ options: HLSOptions,
        store: any LiveStore,
        token: String,
        renditions: [String] = []
    ) throws(MediaError) {
        try options.validate()
        (self.options, self.store, self.token, names) = (options, store, token, renditions)
    }

    /// The number of the rendition that decides where all are cut.
    private var leader: Int { max(names.count - 1, 0) }
    /// The number of renditions of the video.
    private var videoCount: Int { tracks.video == nil ? 0 : max(names.count, 1) }
    private var isLadder: Bool { names.count > 1 }

    /// Begins with the units of a connection.
    ///
    /// - Parameter rendition: The number of the rendition that it brings.
    /// - Throws: `unsupported` if there is no track, or the tracks are not those of the connection before.
    mutating func begin(_ tracks: LiveTracks, rendition: Int = 0, at now: MediaTime) throws(MediaError) {
        guard !isEnded else { throw MediaError(.invalidState, "the stream has ended") }
        // The other connections of a ladder are not disturbed when one begins for the first time.
        if !isLadder || bitRates[rendition] != nil { try interrupt(at: now) }
        open.insert(rendition)
        bitRates[rendition] = tracks.videoBitRate ?? 0
        guard rendition == leader else { return }
        guard tracks.video != nil || !tracks.audio.isEmpty else {
            throw MediaError(.unsupported, "the stream has no track")
        }
        for audio in tracks.audio { _ = try PartMuxer(audio: audio) }
        let isSameKind = (tracks.video == nil) == (self.tracks.video == nil)
        guard plan == nil || isSameKind && tracks.audio.count == self.tracks.audio.count else {
            throw MediaError(
                .unsupported,
                "a stream cannot continue with other tracks",
                given: "\(tracks.audio.count) of audio",
                allowed: "\(self.tracks.audio.count)"
            )
        }
        self.tracks = tracks
        // The part target of a playlist never changes.
        plan = plan ?? PartPlan(options, tracks)
    }

    /// Adds a unit. Those before the first key frame are left out.
    ///
    /// - Parameters:
    ///   - rendition: The number of the rendition whose connection it comes from.
    ///   - now: The present time of a clock that never goes back.
    ///   - date: The present date and time.
    mutating func add(
        _ unit: LiveUnit,
        rendition: Int = 0,
        at now: MediaTime,
        date: WallClockTime
    ) throws(MediaError) {
        guard !isEnded else { throw MediaError(.invalidState, "the stream has ended") }
        let before = renditions.map(\.playlist.edge)
        if rendition == leader { try addLeading(unit, at: now, date: date) } else { addFollowing(unit, rendition) }
        try follow(at: now)
        let edges = renditions.map(\.playlist.edge)
        if edges.count == before.count, edges != before { try publish(at: now) }
    }

    private mutating func addFollowing(_ unit: LiveUnit, _ rendition: Int) {
        // The audio comes with the leading rendition.
        guard case .video(let sample) = unit else { return }
        let step = plan?.step ?? PartPlan.usualStep
        if sample.isKeyFrame {
            isChangePending = isChangePending || sample.formatDescription.needsOther(than: newest[rendition])
            newest[rendition] = sample.formatDescription
        }
        videos[rendition, default: VideoFollower(step: step)].append(sample)
    }

    private mutating func addLeading(_ unit: LiveUnit, at now: MediaTime, date: WallClockTime) throws(MediaError) {
        guard let plan else { throw MediaError(.invalidState, "the stream has not begun") }
        if let sample = LeadSample(unit, hasVideo: tracks.video != nil) {
            if run == nil { try start(sample, plan, date) } else { try addLead(sample, at: now) }
        } else if case .audio(let packet, let track) = unit,
            let index = run?.followers.firstIndex(where: { $0.track == track })
        {
            run?.followers[index].append(packet)
        }
    }

    /// Notes that the connection of a rendition has ended.
    ///
    /// - Parameter isLast: Whether the stream ends with it, so that all playlists end with the last connection.
    mutating func close(rendition: Int = 0, isLast: Bool, at now: MediaTime) throws(MediaError) {
        guard open.remove(rendition) != nil else { return }
        isEnding = isEnding || isLast
        if isEnding, open.isEmpty { try finish(at: now) }
    }

    /// Ends all playlists with what they have.
    mutating func finish(at now: MediaTime) throws(MediaError) {
        guard !isEnded else { return }
        try interrupt(at: now)
        for index in renditions.indices { try renditions[index].finish(at: now) }
        isEnded = true
        if renditions.contains(where: { $0.playlist.segmentCount > 0 }) { try publish(at: now) }
    }

    private mutating func publish(at now: MediaTime) throws(MediaError) {
        description.note(renditions.map(\.measured), options)
        // Players get a ladder when all of it is there.
        guard description.formatCount >= videoCount else { return }
        try store.publish(
            PresentationState(
                multivariant: description.text(renditions.map(\.folder), tracks, bitRates),
                entries: renditions.map { PresentationState.Entry(folder: $0.folder, playlist: $0.playlist) }
            )
        )
        for index in renditions.indices { store.remove(renditions[index].takeExpiredFiles(at: now)) }
    }
}

// MARK: - Beginnings and ends

extension LivePackager {
    private mutating func start(_ first: LeadSample, _ plan: PartPlan, _ date: WallClockTime) throws(MediaError) {
        guard first.isKeyFrame, first.decodeTime.isValid, first.presentationTime.isValid else { return }
        guard !isLadder || first.isCommon else { return }
        let lead = LeadTrack(first: first)
        let start = lead.time(of: first)
        // Dates do not go back, also if the clock of the machine does.
        let date = lastDate.map { $0.milliseconds > date.milliseconds ? $0 : date } ?? date
        let numbers = tracks.audio.indices.dropFirst(tracks.video == nil ? 1 : 0)
        if renditions.isEmpty { try makeRenditions(plan, date) }
        let muxer = try leadMuxer(first)
        run = Run(
            planner: BoundaryPlanner(options, plan, isSound: tracks.video == nil, start: start),
            lead: lead,
            followers: numbers.map { number in
                Follower(track: number, packetDuration: tracks.audio[number].packetDuration, start: start)
            },
            date: date,
            start: start
        )
        renditions[leader].begin(muxer, at: start, date: date)
        guard isLadder else { return }
        for number in 0..<leader {
            videos[number, default: VideoFollower(step: plan.step)].begin(at: first.presentationTime)
        }
    }

    private mutating func makeRenditions(_ plan: PartPlan, _ date: WallClockTime) throws(MediaError) {
        let ofVideo = tracks.video == nil ? [] : isLadder ? self.names.map { "video-\($0)" } : ["video"]
        let names = ofVideo + tracks.audio.indices.map { "audio-\($0 + 1)" }
        let playlist = options.playlist(plan, holdsRequests: store.holdsRequests)
        var made: [Rendition] = []
        for name in names {
            made.append(try Rendition(folder: name, token: token, options: playlist, date: date))
        }
        renditions = made
    }

    private mutating func leadMuxer(_ sample: LeadSample) throws(MediaError) -> PartMuxer {
        guard let format = sample.format else { return try PartMuxer(audio: tracks.audio[0]) }
        formatHasChanged = formatHasChanged || sample.needsOther(than: description.format(of: leader))
        return videoMuxer(format, leader)
    }

    /// The muxer of a ladder repeats parameter sets, because its encoders are not replaced all at once.
    private mutating func videoMuxer(_ format: FormatDescription, _ rendition: Int) -> PartMuxer {
        description.note(format, of: rendition)
        return PartMuxer(
            video: format,
            frameRate: tracks.frameRate,
            repeatsParameterSets: formatHasChanged || isLadder
        )
    }

    /// Completes the segments of a connection that has ended.
    private mutating func interrupt(at now: MediaTime) throws(MediaError) {
        guard let plan, var run else { return }
        var end = run.planner.horizon
        if let sample = run.lead.held.take() {
            self.run = run
            try write(sample, duration: plan.step)
            end = end + plan.step
        }
        for index in run.followers.indices {
            let number = rendition(of: run.followers[index].track)
            let left = run.followers[index].finish()
            self.run = run
            for case .write(let packet, let duration) in left where packet.presentationTime < end {
                try renditions[number].write(packet, duration: duration)
            }
            let last = min(run.followers[index].end, max(end, renditions[number].partStart))
            try renditions[number].complete(at: last, in: store, now: now)
        }
        for number in videos.keys.sorted() {
            while let action = videos[number]?.next(horizon: nil) { try perform(action, number, at: now) }
            try renditions[number].complete(at: end, in: store, now: now)
        }
        videos = [:]
        try renditions[leader].complete(at: end, in: store, now: now)
        lastDate = run.date(at: end)
        self.run = nil
    }

    private func rendition(of audio: Int) -> Int { videoCount + audio }
}

// MARK: - Units

extension LivePackager {
    private mutating func addLead(_ sample: LeadSample, at now: MediaTime) throws(MediaError) {
        guard var run, let plan else { return }
        let time = run.lead.time(of: sample)
        guard time.isValid, sample.presentationTime.isValid, time > run.planner.horizon else {
            throw MediaError(
                .malformedData,
                "times go back, or are not valid",
                given: sample.decodeTime.description,
                allowed: "above \(run.planner.horizon)"
            )
        }
        var isChange = sample.isKeyFrame && sample.needsOther(than: run.lead.format)
        let heldTime = run.planner.horizon
        isChangePending = isChangePending || isLadder && isChange
        // A ladder is cut only where all of its renditions have a key frame.
        var step = try run.planner.add(
            time,
            isKeyFrame: sample.isKeyFrame && (!isLadder || sample.isCommon),
            isChange: isChange && !isLadder
        )
        if isLadder {
            isChange = isChangePending && step.after.map { $0.kind != .part } ?? false
            if isChange {
                step.after?.kind = .discontinuity
                isChangePending = false
            }
        }
        let held = run.lead.held.take()
        if !step.isRefused { (run.lead.held, run.lead.format) = (sample, sample.format) }
        let boundaries = ([step.before] + step.during + [step.after]).compactMap(\.self)
        for boundary in boundaries {
            for index in run.followers.indices { run.followers[index].append(boundary) }
            for number in videos.keys { videos[number]?.append(boundary, keyFrame: sample.presentationTime) }
        }
        self.run = run
        if let boundary = step.before { try close(leader, boundary, at: now) }
        if let held {
            let end = step.isRefused ? heldTime + plan.step : step.after?.end ?? time
            try write(held, duration: end - heldTime)
        }
        for boundary in step.during { try close(leader, boundary, at: now) }
        if let boundary = step.after { try close(leader, boundary, at: now) }
        guard isChange, !step.isRefused, sample.needsOther(than: description.format(of: leader)) else { return }
        renditions[leader].replace(try leadMuxer(sample))
    }

    private mutating func write(_ sample: LeadSample, duration: MediaTime) throws(MediaError) {
        switch sample {
        case .picture(let picture): try renditions[leader].write(picture, duration: duration)
        case .packet(let packet): try renditions[leader].write(packet, duration: duration)
        }
    }

    private mutating func close(_ index: Int, _ boundary: Boundary, at now: MediaTime) throws(MediaError) {
        let date = boundary.end == boundary.next ? nil : run?.date(at: boundary.next)
        try renditions[index].close(boundary, date: date, in: store, at: now)
    }

    private mutating func follow(at now: MediaTime) throws(MediaError) {
        guard let horizon = run?.planner.horizon, let count = run?.followers.count else { return }
        for number in videos.keys.sorted() {
            while let action = videos[number]?.next(horizon: horizon) { try perform(action, number, at: now) }
        }
        for index in 0..<count {
            while let track = run?.followers[index].track, let action = run?.followers[index].next(horizon: horizon) {
                let number = rendition(of: track)
                switch action {
                case .begin(let time):
                    let muxer = try PartMuxer(audio: tracks.audio[track])
                    renditions[number].begin(muxer, at: time, date: run?.date(at: time))
                case .write(let packet, let duration): try renditions[number].write(packet, duration: duration)
                case .close(let boundary): try close(number, boundary, at: now)
                }
            }
        }
    }

    private mutating func perform(_ action: VideoFollower.Action, _ number: Int, at now: MediaTime) throws(MediaError) {
        switch action {
        case .begin(let picture, let time):
            let muxer = videoMuxer(picture.formatDescription, number)
            renditions[number].begin(muxer, at: time, date: run?.date(at: time))
        case .write(let picture, let duration): try renditions[number].write(picture, duration: duration)
        case .close(let boundary, let next):
            try close(number, boundary, at: now)
            guard boundary.kind == .discontinuity, let format = next?.formatDescription,
                format.needsOther(than: description.format(of: number))
            else { return }
            renditions[number].replace(videoMuxer(format, number))
        }
    }
}
