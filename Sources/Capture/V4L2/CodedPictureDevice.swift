// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// A source of pictures that the device has coded, such as a camera with an encoder. The rules of ``PictureDevice``
/// apply.
public protocol CodedPictureDevice: AnyObject {
    /// The pictures that the device delivers at present.
    var stream: PictureStream { get }

    /// Waits for the next picture.
    ///
    /// - Throws: As ``PictureDevice/read()``.
    func read() throws(MediaError) -> CodedPicture
}

/// A coded picture from a device.
public struct CodedPicture: Sendable {
    /// The access unit, in Annex B, with the parameter sets that the device sends with it.
    public var data: CodedData
    /// When it was captured, as ``CapturedPicture/time``.
    public var time: MediaTime
    /// Whether decoding can begin with this picture: it is an IDR picture.
    public var isKeyFrame: Bool
    /// The number of pictures between the previous one and this one that are lost. Until the next key frame, pictures
    /// may then be predicted from one that is missing.
    public var lostBefore: Int

    /// Makes a coded picture.
    public init(_ data: CodedData, time: MediaTime, isKeyFrame: Bool, lostBefore: Int = 0) {
        (self.data, self.time, self.isKeyFrame, self.lostBefore) = (data, time, isKeyFrame, lostBefore)
    }
}
