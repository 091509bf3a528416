// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

// MARK: - The encoder at work

extension SessionMachine {
    mutating func create() {
        passOverOtherCodecs()
        guard selection.candidates.indices.contains(attempts.candidate) else {
            return end(with: finalError, SamplesEnd.failed)
        }
        let id = nextInstance
        nextInstance += 1
        work = InstanceWork()
        beginSwitch()
        phase = .creating(id)
        noteProgress()
        do {
            let candidate = attempts.candidate
            let valid = try configuration.validated(for: selection.candidates[candidate].codec)
            for adjustment in valid.adjustments where reportedAdjustments.insert(adjustment).inserted {
                actions.append(.report(.adjusted(adjustment)))
            }
            let depth = assembler?.reorderDepth
            let request = Creation(
                candidate: candidate,
                configuration: valid.configuration,
                maximumReorderDepth: depth,
                pause: creationPause
            )
            actions.append(.create(id, request))
        } catch {
            fail(error)
        }
    }

    /// The error when no candidate is left: the error of the last one, and the reasons for those that were never tried.
    private var finalError: MediaError {
        guard var error = lastVerdict else { return selection.emptyError }
        guard !selection.rejected.isEmpty else { return error }
        error.message += "; not tried: " + selection.rejected.map(\.description).joined(separator: "; ")
        error.remedies += selection.rejected.remedies.filter { !error.remedies.contains($0) }
        return error
    }

    mutating func instance(_ event: InstanceEvent) {
        noteProgress()
        switch event {
        case .created(let properties): created(properties)
        case .frameDone(let number, let copies, let isConverted):
            statistics.copiedPictures += copies
            if isConverted { statistics.convertedByEncoder += 1 }
            work.framesAtInstance -= 1
            work.framesDone += 1
            if isFailureFinal { window.releasePicture(of: number) }
        case .frameLost(let number, let error): lose(number, error)
        case .adjusted(let adjustment):
            encoder?.properties.adjustments.append(adjustment)
            adjustmentsAtWork.insert(adjustment.withoutReason)
            actions.append(.report(.adjusted(adjustment)))
        case .picturesCopied(let count): statistics.copiedPictures += count
        case .pictureConverted: statistics.convertedByCPU += 1
        case .output(.coded(let frame)): take(frame)
        case .output(.failed(let error)), .failed(let error): fail(error)
        case .updated(let outcome): updated(outcome)
        case .updateRefused(let error): updateRefused(error)
        case .drained: drained()
        }
    }

    /// Whether no frame would be encoded again if the encoder failed now.
    private var isFailureFinal: Bool {
        encoder?.properties.isFailureFinal == true && isLastCandidate
    }

    private mutating func created(_ properties: EncoderProperties) {
        guard case .creating(let id) = phase else { return }
        if let depth = assembler?.reorderDepth, properties.reorderDepth > depth {
            return fail(
                MediaError(
                    .unsupported,
                    "the encoder reorders more frames than the session's decode timestamps allow",
                    given: "\(properties.reorderDepth)",
                    allowed: "at most \(depth)"
                )
            )
        }
        attempts.created()
        // The session has entered the device: only the first creation includes the preparation.
        selection.candidates[attempts.candidate].preparation = .zero
        statistics.createdEncoders += 1
        phase = .running(id)
        work.format = properties.formatDescription
        work.maximumDelay = properties.maximumDelay
        if statistics.acceptedFrames == 0 {
            assembler = SampleAssembler(reorderDepth: properties.reorderDepth, frameRate: configuration.frameRate)
        }
        describeEncoder(properties)
        if let waiter = startWaiter {
            startWaiter = nil
            resume(waiter, .success(.accepted))
        }
        let frames = window.frames
        statistics.repeatedFrames += frames.count
        pendingSwitch?.repeatedFrames = frames.count
        for frame in frames { submit(frame, to: id) }
        // Frames without a picture may be all that is left.
        deliver()
        if updateInProgress != nil { updated(.done()) }
    }

    private mutating func describeEncoder(_ properties: EncoderProperties) {
        let chosen = selection.candidates[attempts.candidate]
        var reason = chosen.reason
        let proof = chosen.proof()
        if let words = proof.warning { reason += "; \(words)" }
        if let lastVerdict { reason += "; previous candidate: \(lastVerdict)" }
        let description = EncoderDescription(
            identity: chosen.identity,
            isInHelper: chosen.isInHelper,
            properties: properties,
            reason: reason,
            rejected: selection.rejected + givenUp,
            proof: proof
        )
        encoder = description
        actions.append(.report(.encoderCreated(description)))
        // An adjustment that an encoder made at work is not reported again for its successor, regardless of its reason.
        for adjustment in properties.adjustments where !adjustmentsAtWork.contains(adjustment.withoutReason) {
            actions.append(.report(.adjusted(adjustment)))
        }
    }

    private mutating func take(_ frame: CodedFrame) {
        do {
            try check(frame)
            work.framesCoded += 1
            if frame.isKeyFrame { work.hasKeyFrame = true }
            try window.take(frame, reorderDepth: assembler?.reorderDepth ?? 0)
        } catch {
            return fail(error)
        }
        deliver()
    }

    /// Goes on without a frame whose picture cannot be read, which is no failure of the encoder.
    private mutating func lose(_ number: Int64, _ error: MediaError) {
        work.framesAtInstance -= 1
        guard let entry = window.lose(number) else { return }
        statistics.lostFrames += 1
        if entry.options.forceKeyFrame { owesKeyFrame = true }
        actions.append(
            .report(.frameLost(presentationTime: entry.presentationTime, token: entry.token, error))
        )
        deliver()
    }

    /// Delivers the complete group, if there is one.
    private mutating func deliver() {
        do {
            if let group = window.completeGroup { try emit(group) }
        } catch {
            fail(error)
        }
    }

    private func check(_ frame: CodedFrame) throws(MediaError) {
        let given = "frame \(frame.number)"
        if case .creating = phase {
            throw MediaError(.frameFailed, "the encoder returned a frame before it was given any", given: given)
        }
        if frame.data.count == 0, !frame.isDropped {
            throw MediaError(.frameFailed, "the encoder returned no data", given: given)
        }
        if !work.hasKeyFrame, !frame.isKeyFrame, !frame.isDropped {
            throw MediaError(.frameFailed, "the first frame of an encoder is not a key frame", given: given)
        }
    }

    private mutating func emit(_ group: FrameWindow.Group) throws(MediaError) {
        guard var format = work.format else { return }
        guard let samples = try assembler?.samples(of: group, format: &format) else { return }
        work.format = format
        window.removeCompleteGroup()
        streamCodec = selection.candidates[attempts.candidate].codec
        let coded = group.count { !$0.entry.isLost }
        if coded > 0 {
            attempts.coded(coded, isLast: isLastCandidate)
            if !work.hasProduced { tell(.produced) }
            work.hasProduced = true
        }
        statistics.codedFrames += samples.count
        statistics.codedBytes += samples.reduce(0) { $0 + $1.data.count }
        actions.append(.emit(samples))
    }

    private mutating func drained() {
        guard case .draining(let id) = phase else { return }
        guard window.isEmpty else {
            return fail(
                MediaError(.frameFailed, "the encoder finished without returning \(window.uncodedCount) of its frames")
            )
        }
        phase = .running(id)
    }
}

// MARK: - Updates

extension SessionMachine {
    /// Starts the first valid update in the queue; the invalid ones before it are answered.
    mutating func startNextUpdate() {
        while let id = runningInstance, updateInProgress == nil, !waitingUpdates.isEmpty {
            let (update, waiter) = waitingUpdates.removeFirst()
            do {
                let codec = selection.candidates[attempts.candidate].codec
                let changed = try configuration.applying(update).validated(for: codec).configuration
                noteWork()
                updateInProgress = (waiter, configuration)
                configuration = changed
                actions.append(.update(id, changed))
            } catch {
                resume(waiter, .failure(error))
            }
        }
    }

    private var runningInstance: InstanceID? {
        switch phase {
        case .running(let id), .draining(let id): id
        case .idle, .creating, .finished, .failed: nil
        }
    }

    private mutating func updated(_ outcome: EncoderUpdateOutcome) {
        switch outcome {
        case .done(let adjustments): for adjustment in adjustments { actions.append(.report(.adjusted(adjustment))) }
        case .needsNewEncoder: refresh(because: .update)
        }
        endUpdate(.success(.accepted))
    }

    private mutating func updateRefused(_ error: MediaError) {
        guard let update = updateInProgress else { return }
        configuration.rateControl = update.previous.rateControl
        configuration.frameRate = update.previous.frameRate
        endUpdate(.failure(error))
    }

    private mutating func endUpdate(_ result: Result<FrameDisposition, MediaError>) {
        let waiter = updateInProgress?.waiter
        updateInProgress = nil
        if let waiter { resume(waiter, result) }
    }
}

extension Adjustment {
    /// The adjustment without its reason.
    fileprivate var withoutReason: Adjustment {
        var adjustment = self
        adjustment.reason = ""
        return adjustment
    }
}
