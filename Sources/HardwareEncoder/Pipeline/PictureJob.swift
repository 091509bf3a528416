// SPDX-License-Identifier: GPL-2.0-or-later

internal import GOPPlanning
internal import MediaTypes
internal import VAAPI

/// A picture in flight, with its surfaces.
struct PictureJob<Coder: PictureCoder>: PictureInFlight {
    let coder: Coder
    let picture: Coder.Picture
    let miscellaneous: ParameterList
    let inputSurface: InputSurface
    let reconstruction: PooledSurface
    let references: [Int64: PooledSurface]
    let units: PictureUnits

    var input: Surface { inputSurface.surface }

    func parameters(output: UInt32) throws(MediaError) -> ParameterList {
        let surfaces = PictureSurfaces(
            reconstruction: reconstruction.surface.id,
            references: references.mapValues(\.surface.id),
            output: output
        )
        return try coder.parameters(picture, surfaces, units, miscellaneous)
    }

    /// Returns the picture's final units: with those that were not sent to the driver, and with the delay of a
    /// buffering period, which was unknown at submission.
    ///
    /// - Parameter initialDelay: The delay; `nil` if the stream does not signal its rate.
    func coded(_ unit: CodedAccessUnit, initialDelay: UInt32?) throws(MediaError) -> CodedData {
        if units.beginsBufferingPeriod, let initialDelay {
            let stream = coder.setup.stream
            let corrected = try PictureMessages.withInitialDelay(initialDelay, in: units, of: stream)
            return unit.coded(
                delimiter: corrected.delimiter,
                inserting: corrected.messages,
                replacingBufferingPeriod: true
            )
        }
        let wasSent = coder.setup.device.packedHeaders.contains(.rawData)
        return unit.coded(delimiter: units.delimiter, inserting: wasSent ? [] : units.messages)
    }
}
