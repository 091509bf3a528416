// SPDX-License-Identifier: GPL-2.0-or-later

import GOPPlanning
import MediaTypes

/// A plan as H.264 codes it, and decoders that play it.
struct Replay {
    var parameters: DecoderModel.Parameters
    var pictures: [CodedPicture]
    let temporalLayers: Int

    /// Numbers a plan.
    init(
        _ structure: GOPStructure,
        _ plan: [PlannedPicture],
        log2MaxFrameNum: Int? = nil,
        log2MaxLsb: Int? = nil
    ) throws(MediaError) {
        var numbering = try H264PictureNumbering(
            structure,
            log2MaxFrameNum: log2MaxFrameNum,
            log2MaxPictureOrderCountLsb: log2MaxLsb
        )
        pictures = plan.map { CodedPicture($0, numbering.number($0)) }
        parameters = DecoderModel.Parameters(
            log2MaxFrameNum: numbering.log2MaxFrameNum,
            log2MaxLsb: numbering.log2MaxPictureOrderCountLsb,
            maxNumRefFrames: numbering.maxNumRefFrames,
            size: structure.referenceCount,
            reorderDepth: structure.reorderDepth
        )
        temporalLayers = structure.temporalLayers
    }

    /// Plays it in every way.
    ///
    /// - Returns: what was wrong.
    func violations() -> [String] {
        var found: [String] = []
        func attempt(_ name: String, _ body: () throws(Violation) -> Void) {
            do throws(Violation) { try body() } catch { found.append("\(name): \(error)") }
        }
        attempt("decoder") { () throws(Violation) in try play() }
        attempt("early output") { () throws(Violation) in try play(showsEarly: true) }
        attempt("large buffer") { () throws(Violation) in try play(size: 16) }
        for layer in 0..<(temporalLayers - 1) {
            attempt("layer \(layer)") { () throws(Violation) in try play(upTo: layer) }
        }
        for index in pictures.indices.filter({ pictures[$0].kind == .recoveryPoint }).prefix(12) {
            attempt("from \(pictures[index].number)") { () throws(Violation) in try playFromRecoveryPoint(index) }
        }
        return found
    }

    /// Decodes the whole stream, or that of some layers; every picture has to come out in order.
    func play(showsEarly: Bool = false, size: Int? = nil, upTo layer: Int = 2) throws(Violation) {
        var parameters = parameters
        parameters.size = size ?? parameters.size
        var decoder = DecoderModel(parameters, showsEarly: showsEarly)
        let pictures = pictures.filter { $0.layer <= layer }
        for picture in pictures { try decoder.decode(picture) }
        try decoder.finish()
        let wanted = pictures.map(\.number).sorted()
        try require(decoder.shown == wanted, "shown are \(decoder.shown), wanted \(wanted)")
    }

    /// Plays what a receiver has that lacks these pictures: everything has to be there and shown.
    ///
    /// - Returns: what was wrong.
    func violations(without lacking: Set<Int64>) -> [String] {
        let received = pictures.filter { !lacking.contains($0.number) }
        var decoder = DecoderModel(parameters)
        decoder.fillsGaps = true
        do throws(Violation) {
            for picture in received { try decoder.decode(picture) }
            try decoder.finish()
            let wanted = received.map(\.number).sorted()
            try require(decoder.shown == wanted, "shown are \(decoder.shown), wanted \(wanted)")
        } catch {
            return ["without \(lacking.sorted()): \(error)"]
        }
        return []
    }

    /// Decodes from a recovery point to the next IDR picture, or some groups; what is shown from the point on has to be
    /// whole.
    private func playFromRecoveryPoint(_ start: Int) throws(Violation) {
        let point = pictures[start].number
        var decoder = DecoderModel(parameters, recoveryPoint: point)
        let end = pictures[start...].prefix(60).firstIndex(where: \.isIDR) ?? min(start + 60, pictures.endIndex)
        for picture in pictures[start..<end] { try decoder.decode(picture) }
        try decoder.finish()
        let shown = decoder.shown.filter { $0 >= point }
        let wanted = pictures[start..<end].map(\.number).filter { $0 >= point }.sorted()
        try require(shown == wanted, "shown are \(shown), wanted \(wanted)")
    }
}
