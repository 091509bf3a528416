# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients by others, as a program that test_foreign_clients.py runs with a Python that has them. Prints JSON.

    foreign.py tus ADDRESS FILE STORE SIZE [--parts N] [--retries N]   uploads with tuspy in parts of so many bytes
    foreign.py webhook SECRET                                          reads {"headers", "body"}: what the receiver
                                                                       of standardwebhooks finds
    foreign.py playlist ADDRESS                                        a playlist and its variants, as m3u8 reads them
"""

import argparse
import json
import os
import sys


def upload(options):
    """Ends without a word after some parts, as a client that is killed; another run goes on with the same store."""
    from tusclient import client
    from tusclient.storage import filestorage

    store = filestorage.FileStorage(options.store)
    uploader = client.TusClient(f"{options.address}/v1/tus").uploader(
        options.file, chunk_size=options.size, store_url=True, url_storage=store, retries=options.retries,
        retry_delay=0.2, upload_checksum=True, metadata={"filename": os.path.basename(options.file)},
    )
    if uploader.url is None:
        uploader.set_url(uploader.create_url())
    begin, parts = uploader.offset, 0
    while uploader.offset < uploader.get_file_size():
        if options.parts is not None and parts == options.parts:
            print(json.dumps({"url": uploader.url, "begin": begin, "end": uploader.offset}), flush=True)
            os._exit(9)
        uploader.upload_chunk()
        parts += 1
    return {"url": uploader.url, "begin": begin, "end": uploader.offset, "parts": parts}


def webhook(options):
    from standardwebhooks.webhooks import Webhook, WebhookVerificationError

    given = json.load(sys.stdin)
    try:
        return {"payload": Webhook(options.secret).verify(given["body"], given["headers"])}
    except WebhookVerificationError as error:
        return {"refused": str(error)}


def playlist(options):
    import m3u8

    main = m3u8.load(options.address)
    variants = []
    for entry in main.playlists:
        variant = m3u8.load(entry.absolute_uri)
        variants.append({
            "resolution": entry.stream_info.resolution, "bandwidth": entry.stream_info.bandwidth,
            "codecs": entry.stream_info.codecs, "endlist": variant.is_endlist,
            "independent": main.is_independent_segments or variant.is_independent_segments,
            "target": variant.target_duration, "durations": [segment.duration for segment in variant.segments],
            "map": variant.segment_map[0].absolute_uri if variant.segment_map else None,
            "segments": [segment.absolute_uri for segment in variant.segments],
        })
    return {"variant": main.is_variant, "iframes": len(main.iframe_playlists), "variants": variants}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(required=True)
    tus = kinds.add_parser("tus")
    for name, kind in (("address", str), ("file", str), ("store", str), ("size", int)):
        tus.add_argument(name, type=kind)
    tus.add_argument("--parts", type=int)
    tus.add_argument("--retries", type=int, default=0)
    tus.set_defaults(run=upload)
    hook = kinds.add_parser("webhook")
    hook.add_argument("secret")
    hook.set_defaults(run=webhook)
    plays = kinds.add_parser("playlist")
    plays.add_argument("address")
    plays.set_defaults(run=playlist)
    options = parser.parse_args()
    print(json.dumps(options.run(options)))


if __name__ == "__main__":
    main()
