// SPDX-License-Identifier: GPL-2.0-or-later

import GOPPlanning

/// Holds a log against the promises of ``GOPPlanner``. It keeps everything that ever happened and computes what it needs
/// from that anew, in the simplest way.
struct PlanChecker {
    private let structure: GOPStructure
    private let findings = Findings()

    private var inputs: [InputPicture] = []
    private var planned: [PlannedPicture] = []
    private var lost: Set<Int64> = []
    private var acknowledged: Set<Int64> = []
    /// Lost, or dependent on what was lost, and not acknowledged.
    private var damaged: Set<Int64> = []
    /// Damaged when a loss was reported: nothing refers to them whatever is reported later.
    private var abandoned: Set<Int64> = []
    /// Inputs that have to be IDR pictures because nothing or an end came before them.
    private var starts: Set<Int64> = []
    private var isAtStart = true

    /// What was wrong with a log.
    static func violations(of log: PlanLog) -> [String] {
        var checker = PlanChecker(structure: log.structure)
        for event in log.events { checker.take(event) }
        checker.checkCompleteness()
        return checker.findings.texts
    }

    private final class Findings {
        var texts: [String] = []
    }

    private init(structure: GOPStructure) { self.structure = structure }

    private func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
        if !condition { findings.texts.append(message()) }
    }

    private mutating func take(_ event: PlanLog.Event) {
        switch event {
        case .added(let input):
            expect(pendingCount <= structure.consecutiveBFrames, "\(pendingCount) pictures wait")
            inputs.append(input)
            if isAtStart { starts.insert(input.number) }
            isAtStart = false
        case .finished:
            isAtStart = true
        case .lost(let numbers):
            lost.formUnion(planned.map(\.number).filter(numbers.contains))
            updateDamage()
            abandoned.formUnion(damaged)
        case .acknowledged(let number):
            acknowledge(number)
        case .planned(let picture):
            check(picture)
            planned.append(picture)
        }
    }

    private var pendingCount: Int { inputs.count - planned.count }

    private func checkCompleteness() {
        expect(planned.map(\.number).sorted() == inputs.map(\.number), "not every picture is planned once")
        let expected = planned.filter { $0.kind == .idr }.map(\.number)
        for number in starts { expect(expected.contains(number), "\(number) is no IDR picture at the start") }
    }

    // MARK: - Each picture

    private var lastIDR: PlannedPicture? { planned.last { $0.kind == .idr } }
    private var lastRecoveryPoint: PlannedPicture? {
        planned.last { $0.kind == .idr || $0.kind == .recoveryPoint }.flatMap { $0.kind == .idr ? nil : $0 }
    }

    private func check(_ picture: PlannedPicture) {
        let number = picture.number
        guard let input = inputs.first(where: { $0.number == number }) else {
            return findings.texts.append("\(number) was not added")
        }
        expect(picture.codingOrder == Int64(planned.count), "coding order of \(number)")
        expect(!input.forceKeyFrame || picture.kind == .idr, "\(number) is forced and no IDR picture")
        expect(picture.longTermIndex == input.longTermIndex, "long-term index of \(number)")
        checkKind(picture, input)
        checkLists(picture)
        checkBuffer(picture)
        checkLayers(picture)
        checkRefresh(picture)
        // E.2.1
        let later = planned.filter { $0.number > number }.count
        expect(later <= structure.reorderDepth, "\(later) pictures shown after \(number) are coded before it")
        let start = picture.kind == .idr ? number : lastIDR?.number ?? number
        let position = inputs.count { $0.number >= start && $0.number < number }
        expect(picture.displayOrder == Int64(position), "display order of \(number)")
    }

    private func checkKind(_ picture: PlannedPicture, _ input: InputPicture) {
        let number = picture.number
        switch picture.kind {
        case .idr:
            let missing = inputs.filter { $0.number < number }.count - planned.count
            expect(missing == 0, "\(missing) pictures shown before the IDR picture \(number) are coded after it")
            let isMeant = input.forceKeyFrame || starts.contains(number) || isKeyFrameDue(input)
            let isUsable = planned.last?.retained.contains { isSound($0.number, for: number) } ?? false
            expect(isMeant || !isUsable, "\(number) is an IDR picture without need")
        case .recoveryPoint:
            guard case .open = structure.randomAccess else { return findings.texts.append("\(number) opens a GOP") }
            expect(isKeyFrameDue(input), "\(number) is a recovery point without need")
        case .p, .b:
            expect(!isKeyFrameDue(input), "\(number) should be a key frame")
            expect(picture.kind == .p || input.longTermIndex == nil, "\(number) is marked and a B-frame")
        }
    }

    private func isKeyFrameDue(_ input: InputPicture) -> Bool {
        let limit: Int?
        switch structure.randomAccess {
        case .closed(let interval), .open(let interval): limit = interval
        case .intraRefresh: return false
        }
        let keys = planned.filter { ($0.kind == .idr || $0.kind == .recoveryPoint) && $0.number < input.number }
        guard let last = keys.map(\.number).max() else { return true }
        let distance = inputs.count { $0.number >= last && $0.number < input.number }
        return input.isKeyFrameDue || limit.map { distance >= $0 } ?? false
    }

    private func checkLists(_ picture: PlannedPicture) {
        let number = picture.number
        let before = planned.last?.retained ?? []
        let (list0, list1) = (picture.list0.map(\.number), picture.list1.map(\.number))
        switch picture.kind {
        case .idr, .recoveryPoint: expect(list0.isEmpty && list1.isEmpty, "intra picture \(number) has references")
        case .p: expect(!list0.isEmpty && list1.isEmpty, "P-frame \(number) has lists \(list0) and \(list1)")
        case .b: expect(!list0.isEmpty && !list1.isEmpty, "B-frame \(number) lacks a reference")
        }
        expect(list0.allSatisfy { $0 < number }, "list 0 of \(number) is \(list0)")
        expect(list1.allSatisfy { $0 > number }, "list 1 of \(number) is \(list1)")
        expect(Set(list0 + list1).count == list0.count + list1.count, "a reference of \(number) comes twice")
        expect(list0.count <= structure.list0Limit, "list 0 of \(number) is too long")
        expect(list1.count <= structure.list1Limit, "list 1 of \(number) is too long")
        for reference in picture.list0 + picture.list1 {
            expect(before.contains(reference), "\(number) refers to \(reference.number), which is not kept")
            expect(isSound(reference.number, for: number), "\(number) refers to \(reference.number)")
        }
        guard picture.kind == .b else { return }
        let next = planned.filter { $0.number > number }.map(\.number).min() ?? number
        let inner = list1.first.map { $0 <= next || !before.contains { $0.number == next } } ?? false
        expect(inner, "\(number) does not refer to the nearest picture")
    }

    private func checkBuffer(_ picture: PlannedPicture) {
        let number = picture.number
        let before = planned.last?.retained ?? []
        let own = picture.isReference ? [PictureReference(number: number, longTermIndex: picture.longTermIndex)] : []
        expect(picture.abandoned == abandoned.intersection(before.map(\.number)), "what \(number) abandons")
        let after = before.filter { !picture.dropped.contains($0) } + own
        expect(picture.retained == after, "references after \(number)")
        expect(picture.dropped.allSatisfy(before.contains), "\(number) drops what was not kept")
        expect(picture.isReference || picture.dropped.isEmpty, "\(number) is no reference and drops others")
        expect(after.count <= structure.referenceCount, "\(after.count) references after \(number)")
        expect(structure.referenceCount <= structure.pictureLimit, "more references than places")
        expect(picture.kind != .idr || after.count == 1, "IDR picture \(number) keeps others")
        let isLongTermOver = picture.kind == .idr || picture.kind == .recoveryPoint
        expect(!isLongTermOver || !after.dropLast().contains { $0.longTermIndex != nil }, "long-term after \(number)")
        for reference in picture.dropped where !isLongTermOver {
            guard let index = reference.longTermIndex else { continue }
            expect(picture.longTermIndex == index, "\(number) drops the long-term reference \(reference.number)")
        }
    }

    private func checkLayers(_ picture: PlannedPicture) {
        let number = picture.number
        expect((0..<structure.temporalLayers).contains(picture.temporalLayer), "layer of \(number)")
        for reference in picture.list0 + picture.list1 {
            let layer = planned.last { $0.number == reference.number }?.temporalLayer ?? 0
            expect(layer <= picture.temporalLayer, "\(number) refers to \(reference.number) of layer \(layer)")
        }
        if structure.temporalLayers > 1 && structure.consecutiveBFrames == 0 && picture.temporalLayer > 0 {
            let distance = 1 << (structure.temporalLayers - 1)
            let since = planned.reversed().prefix { $0.temporalLayer > 0 }.count
            expect(since < distance - 1, "\(since) pictures above the base layer before \(number)")
        }
    }

    private func checkRefresh(_ picture: PlannedPicture) {
        guard case .intraRefresh(let period) = structure.randomAccess, picture.kind != .idr else {
            return expect(picture.refreshPosition == nil, "\(picture.number) belongs to a wave")
        }
        expect(picture.list0.count == 1, "\(picture.number) has \(picture.list0.count) references")
        let last = planned.last
        let follows = picture.list0.first?.number == last?.number
        let expected = follows ? last?.refreshPosition.map { ($0 + 1) % period } ?? 0 : 0
        expect(picture.refreshPosition == expected, "\(picture.number) holds a wrong part of the wave")
    }

    // MARK: - What may be referred to

    /// Whether a picture may refer to a reference: neither damaged nor behind a recovery point or an IDR picture.
    private func isSound(_ reference: Int64, for number: Int64) -> Bool {
        if let idr = lastIDR, reference < idr.number { return false }
        if let point = lastRecoveryPoint, number > point.number, reference < point.number { return false }
        return !abandoned.contains(reference)
    }

    private mutating func updateDamage() {
        damaged = []
        for picture in planned where !lost.isEmpty && !acknowledged.contains(picture.number) {
            let references = picture.list0 + picture.list1
            if lost.contains(picture.number) || references.contains(where: { damaged.contains($0.number) }) {
                damaged.insert(picture.number)
            }
        }
    }

    private mutating func acknowledge(_ number: Int64) {
        guard let picture = planned.last(where: { $0.number == number }) else { return }
        guard acknowledged.insert(number).inserted else { return }
        for reference in picture.list0 + picture.list1 { acknowledge(reference.number) }
    }
}
