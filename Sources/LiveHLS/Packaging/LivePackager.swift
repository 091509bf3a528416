// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import MediaIO
internal import MediaTypes
internal import Streaming
internal import StreamingPlaylists

/// Cuts the units of a live stream into parts and segments, one rendition for each track, and lists them.
///
/// It has neither a clock nor files of its own: the caller passes the time, and the store keeps what comes out. After
/// an error, and for a connection that is made again, ``begin(_:at:)`` continues the playlists with a discontinuity.
struct LivePackager {
    let options: HLSOptions
    private let store: any LiveStore
    private let token: String
    private var renditions: [Rendition] = []
    private var tracks = LiveTracks(video: nil)
    private var plan: PartPlan?
    private var description = MultivariantDescription()
    private var run: Run?
    /// The date at which the last connection has ended.
    private var lastDate: WallClockTime?
    private var formatHasChanged = false
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

    /// - Parameter token: What no other stream at this place has in the names of its files.
    init(_ options: HLSOptions, store: any LiveStore, token: String) throws(MediaError) {
        try options.validate()
        (self.options, self.store, self.token) = (options, store, token)
    }

    /// Begins with the units of a connection.
    ///
    /// - Throws: `unsupported` if there is no track, or the tracks are not those of the connection before.
    mutating func begin(_ tracks: LiveTracks, at now: MediaTime) throws(MediaError) {
        guard !isEnded else { throw MediaError(.invalidState, "the stream has ended") }
        try interrupt(at: now)
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
    ///   - now: The present time of a clock that never goes back.
    ///   - date: The present date and time.
    mutating func add(_ unit: LiveUnit, at now: MediaTime, date: WallClockTime) throws(MediaError) {
        guard let plan, !isEnded else { throw MediaError(.invalidState, "the stream has not begun, or has ended") }
        let before = renditions.map(\.playlist.edge)
        if let sample = LeadSample(unit, hasVideo: tracks.video != nil) {
            if run == nil { try start(sample, plan, date) } else { try addLead(sample, at: now) }
        } else if case .audio(let packet, let track) = unit,
            let index = run?.followers.firstIndex(where: { $0.track == track })
        {
            run?.followers[index].append(packet)
        }
        try follow(at: now)
        let edges = renditions.map(\.playlist.edge)
        if edges.count == before.count, edges != before { try publish(at: now) }
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
        try store.publish(
            PresentationState(
                multivariant: description.text(renditions.map(\.folder), tracks),
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
        renditions[0].begin(muxer, at: start, date: date)
    }

    private mutating func makeRenditions(_ plan: PartPlan, _ date: WallClockTime) throws(MediaError) {
        let names = (tracks.video == nil ? [] : ["video"]) + tracks.audio.indices.map { "audio-\($0 + 1)" }
        let playlist = options.playlist(plan, holdsRequests: store.holdsRequests)
        var made: [Rendition] = []
        for name in names {
            made.append(try Rendition(folder: name, token: token, options: playlist, date: date))
        }
        renditions = made
    }

    private mutating func leadMuxer(_ sample: LeadSample) throws(MediaError) -> PartMuxer {
        guard let format = sample.format else { return try PartMuxer(audio: tracks.audio[0]) }
        formatHasChanged = formatHasChanged || sample.needsOther(than: description.format)
        description.note(format)
        return PartMuxer(video: format, frameRate: tracks.frameRate, repeatsParameterSets: formatHasChanged)
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
        try renditions[0].complete(at: end, in: store, now: now)
        lastDate = run.date(at: end)
        self.run = nil
    }

    private func rendition(of audio: Int) -> Int { (tracks.video == nil ? 0 : 1) + audio }
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
        let isChange = sample.isKeyFrame && sample.needsOther(than: run.lead.format)
        let heldTime = run.planner.horizon
        let step = try run.planner.add(time, isKeyFrame: sample.isKeyFrame, isChange: isChange)
        let held = run.lead.held.take()
        if !step.isRefused { (run.lead.held, run.lead.format) = (sample, sample.format) }
        let boundaries = ([step.before] + step.during + [step.after]).compactMap(\.self)
        for boundary in boundaries {
            for index in run.followers.indices { run.followers[index].append(boundary) }
        }
        self.run = run
        if let boundary = step.before { try close(0, boundary, at: now) }
        if let held {
            let end = step.isRefused ? heldTime + plan.step : step.after?.end ?? time
            try write(held, duration: end - heldTime)
        }
        for boundary in step.during { try close(0, boundary, at: now) }
        if let boundary = step.after { try close(0, boundary, at: now) }
        if isChange, !step.isRefused { renditions[0].replace(try leadMuxer(sample)) }
    }

    private mutating func write(_ sample: LeadSample, duration: MediaTime) throws(MediaError) {
        switch sample {
        case .picture(let picture): try renditions[0].write(picture, duration: duration)
        case .packet(let packet): try renditions[0].write(packet, duration: duration)
        }
    }

    private mutating func close(_ index: Int, _ boundary: Boundary, at now: MediaTime) throws(MediaError) {
        let date = boundary.end == boundary.next ? nil : run?.date(at: boundary.next)
        try renditions[index].close(boundary, date: date, in: store, at: now)
    }

    private mutating func follow(at now: MediaTime) throws(MediaError) {
        guard let horizon = run?.planner.horizon, let count = run?.followers.count else { return }
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
}
