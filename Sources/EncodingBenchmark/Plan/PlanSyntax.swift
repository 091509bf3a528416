// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Parses the YAML subset for plans: block and flow collections, plain and quoted scalars, comments. It includes JSON.
/// Anchors, tags, block scalars, multi-line scalars, complex keys and multiple documents are refused: plans do not need
/// them, and a full YAML parser would add Foundation with its 30 MB of ICU data to the program.
struct PlanSyntax {
    /// The maximum nesting of collections. Plans have three levels; more would only use up the stack.
    static let maximumDepth = 16

    var cursor: PlanCursor
    private var depth = 0

    private init(_ text: String, name: String) { cursor = PlanCursor(text, name: name) }

    /// Parses a document.
    ///
    /// - Returns: Nil if the text contains only comments.
    /// - Throws: `invalidArgument` with the line.
    static func node(of text: String, name: String) throws(MediaError) -> PlanNode? {
        var syntax = PlanSyntax(text, name: name)
        try syntax.cursor.skipBlankLines()
        if syntax.cursor.skipMarker("---") { try syntax.cursor.skipBlankLines() }
        if syntax.cursor.skipMarker("...") || syntax.cursor.isAtEnd { return nil }
        let node = try syntax.blockNode()
        try syntax.cursor.skipBlankLines()
        if syntax.cursor.skipMarker("...") { try syntax.cursor.skipBlankLines() }
        guard syntax.cursor.isAtEnd else {
            throw syntax.cursor.wrong("unexpected text after the plan", allowed: "one document, indented evenly")
        }
        return node
    }

    // MARK: - Block style (YAML 1.2.2, chapter 8)

    /// Parses the node at the position, which may continue in lines with the same indentation.
    private mutating func blockNode() throws(MediaError) -> PlanNode {
        try descend()
        defer { depth -= 1 }
        if cursor.isAtIndicator("-") { return try blockSequence() }
        if cursor.isAtFlowCollection {
            let node = try flowNode()
            try cursor.endLine()
            return node
        }
        let start = (line: cursor.line, column: cursor.column)
        let first = try scalar(inFlow: false)
        guard cursor.isAtIndicator(":") else {
            try cursor.endLine()
            return first
        }
        return try blockMapping(first, start.line, column: start.column)
    }

    private mutating func blockSequence() throws(MediaError) -> PlanNode {
        let (line, column) = (cursor.line, cursor.column)
        var items: [PlanNode] = []
        while !cursor.isAtEnd, cursor.column == column, cursor.isAtIndicator("-") {
            let itemLine = cursor.line
            cursor.advance()
            cursor.skipSpaces()
            if cursor.isAtEndOfLine { try cursor.skipBlankLines() }
            let isEmpty = cursor.isAtEnd || cursor.column <= column
            items.append(isEmpty ? PlanNode(content: .scalar(""), line: itemLine) : try blockNode())
            try cursor.skipBlankLines()
        }
        return PlanNode(content: .sequence(items), line: line)
    }

    private mutating func blockMapping(
        _ first: PlanNode,
        _ line: Int,
        column: Int
    ) throws(MediaError) -> PlanNode {
        var mapping = MappingBuilder()
        var key = first
        while true {
            try mapping.check(key, cursor)
            cursor.advance()
            mapping.add(key, try blockValue(of: key, column: column))
            try cursor.skipBlankLines()
            guard !cursor.isAtEnd, cursor.column == column, !cursor.isAtDocumentMarker else { break }
            key = try scalar(inFlow: false)
            guard cursor.isAtIndicator(":") else { throw cursor.wrong("a key has no value", allowed: "key: value") }
        }
        return PlanNode(content: .mapping(mapping.pairs), line: line)
    }

    /// Parses the value after the colon of a key in `column`.
    private mutating func blockValue(of key: PlanNode, column: Int) throws(MediaError) -> PlanNode {
        cursor.skipSpaces()
        if cursor.isAtEndOfLine {
            try cursor.skipBlankLines()
            // A sequence may start in the same column as its key.
            let isIndented = cursor.column > column || cursor.column == column && cursor.isAtIndicator("-")
            guard !cursor.isAtEnd, isIndented else { return PlanNode(content: .scalar(""), line: key.line) }
            return try blockNode()
        }
        let value = cursor.isAtFlowCollection ? try flowNode() : try scalar(inFlow: false)
        try cursor.endLine()
        return value
    }

    // MARK: - Flow style (YAML 1.2.2, 7.4; JSON)

    private mutating func flowNode() throws(MediaError) -> PlanNode {
        try descend()
        defer { depth -= 1 }
        let line = cursor.line
        switch cursor.next {
        case UInt8(ascii: "["): return PlanNode(content: .sequence(try flowSequence()), line: line)
        case UInt8(ascii: "{"): return PlanNode(content: .mapping(try flowMapping()), line: line)
        default: return try scalar(inFlow: true)
        }
    }

    private mutating func flowSequence() throws(MediaError) -> [PlanNode] {
        var items: [PlanNode] = []
        cursor.advance()
        try cursor.skipBlanks()
        while cursor.next != UInt8(ascii: "]") {
            items.append(try flowNode())
            try endFlowItem(UInt8(ascii: "]"))
        }
        cursor.advance()
        return items
    }

    private mutating func flowMapping() throws(MediaError) -> [PlanNode.Pair] {
        var mapping = MappingBuilder()
        cursor.advance()
        try cursor.skipBlanks()
        while cursor.next != UInt8(ascii: "}") {
            let key = try scalar(inFlow: true)
            try mapping.check(key, cursor)
            try cursor.skipBlanks()
            guard cursor.next == UInt8(ascii: ":") else {
                throw cursor.wrong("a key has no value", allowed: "{key: value, key: value}")
            }
            cursor.advance()
            try cursor.skipBlanks()
            let isEmpty = cursor.next == UInt8(ascii: ",") || cursor.next == UInt8(ascii: "}")
            mapping.add(key, isEmpty ? PlanNode(content: .scalar(""), line: key.line) : try flowNode())
            try endFlowItem(UInt8(ascii: "}"))
        }
        cursor.advance()
        return mapping.pairs
    }

    /// Parses the comma after an item, which is optional only before the end of the collection.
    private mutating func endFlowItem(_ end: UInt8) throws(MediaError) {
        try cursor.skipBlanks()
        if cursor.next == UInt8(ascii: ",") {
            cursor.advance()
            try cursor.skipBlanks()
        } else if cursor.next != end {
            throw cursor.wrong("a collection is not terminated", allowed: ", or \(Character(UnicodeScalar(end)))")
        }
    }

    private mutating func descend() throws(MediaError) {
        depth += 1
        guard depth <= Self.maximumDepth else {
            throw cursor.wrong("collections are nested too deeply", allowed: "\(Self.maximumDepth) levels")
        }
    }

    // MARK: - Scalars (YAML 1.2.2, 7.3)

    private mutating func scalar(inFlow: Bool) throws(MediaError) -> PlanNode {
        let line = cursor.line
        let text =
            switch cursor.next {
            case UInt8(ascii: "\""): try cursor.doubleQuoted()
            case UInt8(ascii: "'"): try cursor.singleQuoted()
            default: try cursor.plain(inFlow: inFlow)
            }
        cursor.skipSpaces()
        return PlanNode(content: .scalar(text), line: line)
    }
}

/// Collects the pairs of a mapping with unique keys.
private struct MappingBuilder {
    private(set) var pairs: [PlanNode.Pair] = []
    private var known: Set<String> = []

    mutating func check(_ key: PlanNode, _ cursor: PlanCursor) throws(MediaError) {
        guard known.insert(key.scalar ?? "").inserted else {
            throw cursor.wrong("duplicate key", given: key.scalar, allowed: "each key once")
        }
    }

    mutating func add(_ key: PlanNode, _ value: PlanNode) { pairs.append(.init(key: key, value: value)) }
}
