// SPDX-License-Identifier: GPL-2.0-or-later

/// The languages that ISO 639-2 gives two codes: a terminological and a bibliographic one.
enum LanguageCode {
    /// Returns the terminological code of a language, which is the same for both; other texts stay as they are.
    static func canonical(_ language: String) -> String { terminological[language.lowercased()] ?? language }

    /// Returns the code of a language that libavformat's QuickTime muxer knows. It stores the numbers of Macintosh languages,
    /// and knows each by one of its codes; most of those with two are known by the bibliographic one.
    static func forQuickTime(_ language: String) -> String {
        let canonical = canonical(language)
        return quickTimeTerminological.contains(canonical) ? canonical : bibliographic[canonical] ?? language
    }

    private static let bibliographic = [
        "bod": "tib", "ces": "cze", "cym": "wel", "deu": "ger", "ell": "gre", "eus": "baq", "fas": "per", "fra": "fre",
        "hye": "arm", "isl": "ice", "kat": "geo", "mkd": "mac", "mri": "mao", "msa": "may", "mya": "bur", "nld": "dut",
        "ron": "rum", "slk": "slo", "sqi": "alb", "zho": "chi",
    ]
    private static let terminological = Dictionary(
        bibliographic.map { ($0.value, $0.key) },
        uniquingKeysWith: { first, _ in first }
    )
    /// The languages with two codes that the muxer knows by the terminological one.
    private static let quickTimeTerminological: Set = ["ces", "fra", "ron", "slk"]
}
