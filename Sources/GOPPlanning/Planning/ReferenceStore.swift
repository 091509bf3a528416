// SPDX-License-Identifier: GPL-2.0-or-later

/// The references in the decoded picture buffer, as far as the plan has come.
struct ReferenceStore {
    /// How many there may be.
    let capacity: Int
    /// How many later references a short-term one may outlive.
    let ageLimit: Int

    private struct Entry {
        var reference: PictureReference
        /// How many references were kept before it.
        var place: Int
        var isShortTerm: Bool { reference.longTermIndex == nil }
        var number: Int64 { reference.number }
    }

    /// In coding order.
    private var entries: [Entry] = []
    private var nextPlace = 0

    init(capacity: Int, ageLimit: Int) {
        self.capacity = capacity
        self.ageLimit = ageLimit
    }

    /// The references, in coding order.
    var references: [PictureReference] { entries.map(\.reference) }

    /// Keeps a picture, and drops what there is no room for.
    ///
    /// What goes is the short-term reference that was coded first, as H.264's sliding window has it, so that no command
    /// is needed; if that one is still needed, the one that is shown first of those that are not.
    ///
    /// - Parameters:
    ///   - new: the picture; a long-term reference takes the place of the one with its index.
    ///   - endsLongTerm: whether all older long-term references go.
    ///   - abandoned: numbers of references that receivers lack. For each long-term one that goes, a short-term one goes
    ///     as well: a receiver has had room for one more of these all the time, and keeps it where commands take the place
    ///     of the sliding window.
    ///   - isNeeded: tells the references that pictures of the group still need.
    /// - Returns: what was dropped, in coding order.
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

    /// Keeps an IDR picture and drops everything else.
    ///
    /// - Returns: what was dropped, in coding order.
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
