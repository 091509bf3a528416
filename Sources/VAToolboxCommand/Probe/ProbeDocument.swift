// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CommandLineSupport
import MediaTypes
import RenderNodes
import VAAPI
import VAToolbox

/// The output of `probe --json`; docs/command.md describes every key.
extension ProbeReport {
    var document: JSON {
        .object([
            "version": .string(VAToolboxCommand.version),
            "renderNodes": .array(nodes.map(\.document)),
            "interrupted": .bool(wasInterrupted),
            "absence": absence?.document ?? .null,
            "softwareEncoders": .array(software.map(\.document)),
            "ffmpeg": .string(ffmpegVersion),
            "hardwareEncoding": .bool(true),
            "state": .object([
                "folder": JSON(SelectionState.standard.folder), "shared": .bool(SelectionState.standard.isShared),
            ]),
        ])
    }
}

extension ProbeReport.SoftwareEncoder {
    fileprivate var document: JSON {
        .object([
            "codec": .string(codec == "H.264" ? "h264" : codec.lowercased()),
            "name": .string(name),
            "bitDepths": .array(bitDepths.map(JSON.integer)),
            "chromaFormats": JSON(chromaFormats),
        ])
    }
}

extension ProbeReport.Node {
    fileprivate var document: JSON {
        let (refusal, driver): (JSON, JSON) =
            switch driver {
            case .outOfReach(let refusal): (refusal.document, .null)
            case .failed(let trouble): (trouble.document, .null)
            case .answers(let driver, let trouble): (trouble?.document ?? .null, driver.document)
            }
        return .object([
            "path": .string(node.path),
            "kernelDriver": JSON(node.kernelDriver),
            "pci": node.pci?.document ?? .null,
            "owner": JSON(node.file?.owner),
            "group": JSON(node.file?.group),
            "groupName": JSON(node.groupName),
            "mode": JSON(node.file.map { "0" + String($0.permissions, radix: 8) }),
            "accessible": .bool(node.access == .accessible),
            "refusal": refusal,
            "limitations": .array(limitations.map(\.document)),
            "driver": driver,
            "testEncode": standing?.verdict?.document ?? .null,
            "testDecodes": .array((standing?.decoding ?? []).map(\.document)),
            "proofs": .array((standing?.proofs ?? []).map(\.document)),
            "breaker": standing?.breaker.document ?? .null,
            "decodingBreakers": .array((standing?.decodingBreakers ?? []).map { $0.breaker.document(of: $0.codec) }),
            "sessions": .array((standing?.sessions ?? []).map(\.document)),
            "trials": trials?.document ?? .null,
        ])
    }
}

extension PCIFunction {
    fileprivate var document: JSON {
        .object([
            "address": .string(address),
            "vendor": JSON(vendorName),
            "vendorID": .integer(Int(vendorID)),
            "deviceID": .integer(Int(deviceID)),
        ])
    }
}

extension NodeRefusal {
    fileprivate var document: JSON {
        .object([
            "path": .string(path),
            "errno": JSON(code),
            "cause": .string(cause.rawValue),
            "explanation": .string(explanation),
            "remedies": JSON(remedies),
        ])
    }
}

extension Diagnosis {
    fileprivate var document: JSON {
        .object([
            "cause": .string(cause.rawValue),
            "explanation": .string(explanation),
            "remedies": JSON(remedies),
        ])
    }
}

extension DriverTrouble {
    fileprivate var document: JSON {
        .object([
            "cause": .string(diagnosis.cause.rawValue),
            "explanation": .string(diagnosis.explanation),
            "remedies": JSON(diagnosis.remedies),
            "failure": .string(failureName),
            "driver": JSON(name),
            "file": JSON(file),
            "stage": JSON(stageName),
            "profile": JSON(profile),
            "entrypoint": JSON(entrypoint),
            "signal": JSON(signal),
            "exitStatus": JSON(exitStatus),
            "deadline": JSON(deadline),
            "log": JSON(logLines),
        ])
    }
}

extension DeviceStanding.Breaker {
    fileprivate func document(of codec: VideoCodec) -> JSON {
        guard case .object(var members) = document else { return .null }
        members.members.insert(.init(key: "codec", value: .string(codec.rawValue)), at: 0)
        return .object(members)
    }
}

extension ProbedDriver.Decoder {
    fileprivate var document: JSON {
        .object([
            "profile": .string("\(profile)"),
            "codec": .string(codec.rawValue),
            "bitDepth": .integer(bitDepth),
            "maximumWidth": JSON(maximumWidth),
            "maximumHeight": JSON(maximumHeight),
            "shortcoming": JSON(shortcoming),
        ])
    }
}

extension ProbedDriver {
    fileprivate var document: JSON {
        .object([
            "name": JSON(description.name),
            "file": JSON(description.file),
            "vendor": .string(description.vendor),
            "vaAPI": .string("\(description.version)"),
            "encodes": .array(
                profiles.map { profile in
                    .object([
                        "profile": .string("\(profile.profile)"),
                        "entrypoints": JSON(profile.entrypoints.map(\.description)),
                    ])
                }
            ),
            "encoders": .array(encoders.map(\.document)),
            "decoders": .array(decoders.map(\.document)),
        ])
    }
}
