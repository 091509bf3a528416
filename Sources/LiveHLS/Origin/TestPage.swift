// SPDX-License-Identifier: GPL-2.0-or-later

internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// A page that plays the stream by Media Source Extensions and shows how far it is behind: for tests, and to look
/// whether a stream is there. It needs no other file.
enum TestPage {
    static var response: Response {
        Response(
            status: .ok,
            headers: [
                .contentType: "text/html; charset=utf-8", .cacheControl: "no-cache",
                .contentSecurityPolicy: "default-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
                    + "media-src 'self' blob:; frame-ancestors 'none'",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }

    /// The title of the page tells what happens, such as `playing, 2.104 s behind, 0 stalls, 1800 frames, 0 dropped`.
    static let text = """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <title>starting</title>
        <style>
        body { margin: 2em auto; max-width: 60em; font: 16px/1.5 sans-serif; background: #111; color: #eee }
        video { width: 100%; background: #000 }
        </style>
        </head>
        <body>
        <video id="video" muted playsinline controls></video>
        <p id="told">starting</p>
        <script>
        'use strict'
        const video = document.getElementById('video')
        const count = { stalls: 0, errors: 0, jumps: 0 }
        const tracks = []
        let offset = null, holdBack = 3, state = 'starting', hasBegun = false, hasPlayed = false

        function attributes(text) {
          const found = {}
          for (const match of text.matchAll(/([A-Z0-9-]+)=("[^"]*"|[^",]*)/g)) {
            found[match[1]] = match[2].replace(/^"|"$/g, '')
          }
          return found
        }

        function parse(text, base) {
          const list = { items: [], first: 0, target: 4, control: {}, isEnded: false, hint: null, parts: 0, last: -1 }
          let number = 0, map = null, date = null, parts = [], elapsed = 0, duration = 0, skipped = 0
          const url = name => new URL(name, base).href
          for (const line of text.split('\\n')) {
            const at = line.indexOf(':')
            const tag = at < 0 ? line : line.slice(0, at), value = at < 0 ? '' : line.slice(at + 1)
            if (tag === '#EXT-X-TARGETDURATION') list.target = Number(value)
            else if (tag === '#EXT-X-SERVER-CONTROL') list.control = attributes(value)
            else if (tag === '#EXT-X-MEDIA-SEQUENCE') list.first = number = Number(value)
            else if (tag === '#EXT-X-MAP') map = url(attributes(value).URI)
            else if (tag === '#EXT-X-PROGRAM-DATE-TIME') { date = Date.parse(value); elapsed = 0 }
            else if (tag === '#EXTINF') duration = parseFloat(value)
            else if (tag === '#EXT-X-ENDLIST') list.isEnded = true
            else if (tag === '#EXT-X-PRELOAD-HINT') list.hint = url(attributes(value).URI)
            else if (tag === '#EXT-X-PART') {
              const part = attributes(value), length = Number(part.DURATION)
              parts.push({ url: url(part.URI), map, date: date + elapsed * 1000, duration: length, number,
                isIndependent: part.INDEPENDENT === 'YES', isGap: part.GAP === 'YES' })
              elapsed += length
            } else if (line && !line.startsWith('#')) {
              const whole = { url: url(line), map, date, duration, number, isIndependent: true, isGap: false }
              list.items.push(...(parts.length ? parts : [whole]))
              list.last = number++
              parts = []
              elapsed = 0
            }
          }
          list.items.push(...parts)
          list.parts = parts.length
          return list
        }

        class Track {
          constructor(url, type, media) {
            Object.assign(this, { url, type, media, map: null, early: new Map(), end: -Infinity, isEnded: false, isNew: false })
            this.buffer = media.addSourceBuffer(type)
            tracks.push(this)
          }

          async load(query) {
            const answer = await fetch(this.url + query)
            if (!answer.ok) throw new Error(`${this.url}${query}: ${answer.status}`)
            return parse(await answer.text(), this.url)
          }

          change(body) {
            return new Promise((resolve, reject) => {
              this.buffer.addEventListener('updateend', resolve, { once: true })
              const refuse = () => reject(new Error('the browser refuses the media'))
              this.buffer.addEventListener('error', refuse, { once: true })
              body(this.buffer)
            })
          }

          async bytes(url) {
            const early = this.early.get(url)
            this.early.delete(url)
            let answer = early ? await early : null
            if (!answer || !answer.ok) answer = await fetch(url)
            if (!answer.ok) throw new Error(`${url}: ${answer.status}`)
            return answer.arrayBuffer()
          }

          async append(item) {
            if (item.isGap) return
            if (item.map !== this.map) {
              const start = await this.bytes(item.map)
              await this.change(buffer => buffer.appendBuffer(start))
              this.map = item.map
            }
            const data = await this.bytes(item.url)
            await this.change(buffer => buffer.appendBuffer(data))
          }

          first(list) {
            let distance = 0, chosen = list.items[0]
            for (const item of [...list.items].reverse()) {
              distance += item.duration
              chosen = item
              if (distance >= holdBack && item.isIndependent) break
            }
            return chosen
          }

          async run(start) {
            let list = await this.load('')
            const part = Number(list.control['PART-HOLD-BACK'])
            holdBack = part || 3 * list.target
            // A stream that has just begun: players that start nearer to its end stall.
            const length = () => list.items.reduce((sum, item) => sum + item.duration, 0)
            let isNew = !part || list.isEnded
            while (!start && !list.isEnded && length() < holdBack) list = await this.following(list)
            let done = null
            let first = start ? await start : this.first(list)
            if (start) first = list.items.find(item => item.date + item.duration * 1000 > first.date) || list.items[0]
            this.resolve?.(first)
            const seen = new Set()
            for (const item of list.items) { if (item === first) break; seen.add(item.url) }
            for (;;) {
              for (const item of list.items) {
                if (seen.has(item.url) || done && item.date < done - 1) continue
                seen.add(item.url)
                await this.append(item)
                done = item.date + item.duration * 1000
                if (this.isLead && offset === null && this.buffer.buffered.length) {
                  offset = item.date - this.buffer.buffered.start(0) * 1000
                }
              }
              Object.assign(this, { end: done, isEnded: list.isEnded, isNew })
              begin()
              if (list.isEnded) return
              const old = video.currentTime - 30
              if (this.buffer.buffered.length && this.buffer.buffered.start(0) < old - 10) {
                await this.change(buffer => buffer.remove(0, old))
              }
              if (list.hint && !this.early.has(list.hint)) {
                this.early.clear()
                this.early.set(list.hint, fetch(list.hint).catch(() => null))
              }
              list = await this.following(list)
              isNew = true
            }
          }

          async following(list) {
            if (list.control['CAN-BLOCK-RELOAD'] !== 'YES') {
              await new Promise(resolve => setTimeout(resolve, list.target * 500))
              return this.load('')
            }
            const part = list.hint ? `&_HLS_part=${list.parts}` : ''
            for (;;) {
              try {
                return await this.load(`?_HLS_msn=${list.last + 1}${part}`)
              } catch (error) {
                count.errors += 1
                await new Promise(resolve => setTimeout(resolve, 500))
                return this.load('')
              }
            }
          }
        }

        // Plays from the hold-back on, once all tracks have that much and a part has just come, which is the latest moment
        // of the stream. A browser that plays before it is at this position stalls when it goes there, and it forgets a
        // position that is set before it knows the tracks.
        function begin() {
          const ranges = video.buffered, ends = tracks.map(track => track.end)
          if (hasBegun || video.readyState === 0 || !ranges.length || !tracks.every(track => track.isNew)) return
          if (Math.max(...ends) - Math.min(...ends) > 500) return
          const start = ranges.start(ranges.length - 1), end = ranges.end(ranges.length - 1)
          const isEnded = tracks.every(track => track.isEnded)
          if (end - start < holdBack - 0.1 && !isEnded) return
          hasBegun = true
          video.currentTime = Math.max(start, end - holdBack)
          video.play().catch(() => {})
        }

        function tell() {
          begin()
          const behind = offset === null ? NaN : (Date.now() - offset) / 1000 - video.currentTime
          const quality = video.getVideoPlaybackQuality ? video.getVideoPlaybackQuality() : {}
          document.title = `${state}, ${behind.toFixed(3)} s behind, ${count.stalls} stalls, ` +
            `${quality.totalVideoFrames || 0} frames, ${quality.droppedVideoFrames || 0} dropped, ` +
            `${count.jumps} jumps, ${count.errors} errors`
          document.getElementById('told').textContent = document.title
          if (hasPlayed && behind > holdBack + 0.8) video.playbackRate = 1.05
          if (behind < holdBack + 0.4) video.playbackRate = 1
          const ranges = video.buffered
          for (let index = 0; index < ranges.length; index++) {
            const start = ranges.start(index)
            const isNext = index === 0 || ranges.end(index - 1) < video.currentTime + 0.1
            if (hasPlayed && video.readyState < 3 && isNext && start > video.currentTime + 0.01) {
              video.currentTime = start + 0.01
              count.jumps += 1
              break
            }
          }
        }

        async function play() {
          const base = new URL('index.m3u8', location.href)
          let answer = await fetch(base)
          while (!answer.ok) {
            await new Promise(resolve => setTimeout(resolve, 500))
            answer = await fetch(base)
          }
          const lines = (await answer.text()).split('\\n')
          const index = lines.findIndex(line => line.startsWith('#EXT-X-STREAM-INF'))
          const codecs = attributes(lines[index]).CODECS.split(',')
          const sound = lines.filter(line => line.startsWith('#EXT-X-MEDIA:TYPE=AUDIO')).map(attributes)
            .find(one => one.DEFAULT === 'YES')
          const isVideo = codec => /^(avc|hvc|hev)/.test(codec)
          const media = new MediaSource()
          video.src = URL.createObjectURL(media)
          await new Promise(resolve => media.addEventListener('sourceopen', resolve, { once: true }))
          const pictures = codecs.filter(isVideo)[0], audio = codecs.filter(one => !isVideo(one))[0]
          const lead = new Track(new URL(lines[index + 1], base).href,
            pictures ? `video/mp4; codecs="${pictures}"` : `audio/mp4; codecs="${audio}"`, media)
          lead.isLead = true
          const begun = new Promise(resolve => { lead.resolve = resolve })
          const runs = [lead.run(null)]
          if (pictures && sound) {
            runs.push(new Track(new URL(sound.URI, base).href, `audio/mp4; codecs="${audio}"`, media).run(begun))
          }
          await Promise.all(runs)
          if (media.readyState === 'open') media.endOfStream()
        }

        video.addEventListener('playing', () => { hasPlayed = true; state = 'playing' })
        video.addEventListener('waiting', () => { if (hasPlayed) { count.stalls += 1; state = 'stalled' } })
        video.addEventListener('ended', () => { state = 'ended' })
        setInterval(tell, 200)
        play().catch(error => { state = `failed: ${error.message}` })
        </script>
        </body>
        </html>

        """
}
