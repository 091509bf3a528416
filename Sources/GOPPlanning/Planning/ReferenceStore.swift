// SPDX-License-Identifier: GPL-2.0-or-later

/// The references in the decoded picture buffer at the present state of the plan.
struct ReferenceStore {
    /// The maximum number of references.
    let capacity: Int
    /// The maximum number of later references that a short-term one may outlive.
    let ageLimit: Int

    private struct Entry {
        var reference: PictureReference
        /// The number of references kept before it.
        var place: Int
        var isShortTerm: Bool { reference.longTermIndex == nil }
        var number: Int64 { reference.number }
    }

    /// The references, in coding order.
    private var entries: [Entry] = []
    private var nextPlace = 0

    init(capacity: Int, ageLimit: Int) {
        self.capacity = capacity
        self.ageLimit = ageLimit
    }

    /// The references, in coding order.
    var references: [PictureReference] { entries.map(\.reference) }

    /// Adds a picture, and drops references for which there is no space.
    ///
    /// The short-term reference that was coded first is dropped, as by H.264's sliding window, so that no command is
    /// needed. If it is still needed, the unneeded one that is shown first is dropped.
    ///
    /// - Parameters:
    ///   - new: The picture; a long-term reference replaces the one with its index.
    ///   - endsLongTerm: Whether all older long-term references are dropped.
    ///   - abandoned: The numbers of references that receivers lack. For each long-term one that is dropped, a
    ///     short-term one is dropped as well: a receiver has always had space for one more short-term reference, and
    ///     keeps it if commands replace the sliding window.
    ///   - isNeeded: Returns whether pictures of the group still need a reference.
    /// - Returns: The dropped references, in coding order.
    mutating func keep(
        _ new: PictureReference,
        endsLongTerm: Bool = false,
        abandoned: Set<Int64> = [],
        isNeeded: (PictureReference) -> Bool
    ) -> [PictureReference] {
        let before = references
        let oldest = nextPlace - ageLimit
        entries.removeAll { old in
            if let index = old.reference.longTermIndex { return endsLongTerm || index == new.longTermIndex }
            return old.place < oldest && !isNeeded(old.reference)
        }
        for missing in before where missing.longTermIndex != nil && abandoned.contains(missing.number) {
            guard !references.contains(missing) else { continue }
            let known = victim { isNeeded($0) || abandoned.contains($0.number) }
            if let victim = known ?? victim(isNeeded) { entries.remove(at: victim) }
        }
        while entries.count >= capacity, let victim = victim(isNeeded) { entries.remove(at: victim) }
        let dropped = before.filter { !references.contains($0) }
        append(new)
        return dropped
    }

    /// Adds an IDR picture and drops all other references.
    ///
    /// - Returns: The dropped references, in coding order.
    mutating func restart(with new: PictureReference) -> [PictureReference] {
        let dropped = references
        entries = []
        append(new)
        return dropped
    }

    private func victim(_ isNeeded: (PictureReference) -> Bool) -> Int? {
        let shortTerm = entries.indices.filter { entries[$0].isShortTerm }
        if let first = shortTerm.first, !isNeeded(entries[first].reference) { return first }
        let dispensable = shortTerm.filter { !isNeeded(entries[$0].reference) }
        return dispensable.min { entries[$0].number < entries[$1].number }
    }

    private mutating func append(_ new: PictureReference) {
        entries.append(Entry(reference: new, place: nextPlace))
        nextPlace += 1
    }
}
