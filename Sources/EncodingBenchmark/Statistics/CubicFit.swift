// SPDX-License-Identifier: GPL-2.0-or-later

/// The cubic polynomial that fits all points best: through them if there are four, otherwise by least squares.
struct CubicFit {
    /// The coefficients of the powers 0 to 3 of the position, shifted and scaled to -1...1.
    private let coefficients: [Double]
    private let center: Double
    private let scale: Double

    /// Fits a polynomial to at least four points at different positions.
    init(_ places: [Double], _ values: [Double]) {
        let (low, high) = (places.min() ?? 0, places.max() ?? 1)
        let center = (low + high) / 2
        let scale = (high - low) / 2
        self.center = center
        self.scale = scale
        let rows = places.map { place -> [Double] in
            let power = (place - center) / scale
            return [1, power, power * power, power * power * power]
        }
        coefficients = Self.leastSquares(rows, values)
    }

    /// Solves the system by orthogonalizing the columns (modified Gram-Schmidt), which is more accurate than the normal
    /// equations.
    private static func leastSquares(_ rows: [[Double]], _ values: [Double]) -> [Double] {
        let size = rows[0].count
        var columns = (0..<size).map { column in rows.map { $0[column] } }
        var triangle = [[Double]](repeating: [Double](repeating: 0, count: size), count: size)
        var rest = values
        var projections = [Double](repeating: 0, count: size)
        for column in 0..<size {
            let length = dot(columns[column], columns[column]).squareRoot()
            triangle[column][column] = length
            columns[column] = columns[column].map { $0 / length }
            for other in (column + 1)..<max(size, column + 1) {
                triangle[column][other] = dot(columns[column], columns[other])
                columns[other] = zip(columns[other], columns[column]).map { $0 - triangle[column][other] * $1 }
            }
            projections[column] = dot(columns[column], rest)
            rest = zip(rest, columns[column]).map { $0 - projections[column] * $1 }
        }
        var solution = projections
        for row in stride(from: size - 1, through: 0, by: -1) {
            for column in (row + 1)..<max(size, row + 1) { solution[row] -= triangle[row][column] * solution[column] }
            solution[row] /= triangle[row][row]
        }
        return solution
    }

    private static func dot(_ left: [Double], _ right: [Double]) -> Double {
        zip(left, right).reduce(0) { $0 + $1.0 * $1.1 }
    }

    /// Returns the integral between two positions.
    func integral(from low: Double, to high: Double) -> Double {
        func primitive(_ place: Double) -> Double {
            let power = (place - center) / scale
            let terms = coefficients.enumerated().reversed().reduce(0) { sum, term in
                sum * power + term.element / Double(term.offset + 1)
            }
            return scale * power * terms
        }
        return primitive(high) - primitive(low)
    }
}
