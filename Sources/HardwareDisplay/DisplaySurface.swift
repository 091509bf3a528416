// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes
package import VAAPI

/// A picture in a surface, which an encoder on the same display reads in place.
package protocol DisplaySurface: DeviceSurface {
    /// Returns the surface, in whose upper left corner the picture is, if it belongs to a display; `nil` if it belongs to
    /// another one. The surface keeps the picture.
    func surface(on display: borrowing Display) -> Surface?
}
