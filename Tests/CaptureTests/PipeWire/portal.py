#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A desktop portal for the tests: answers as it is told, and prints each call as a line of JSON.

Usage: portal.py SOCKET NODE [ANSWER]...
SOCKET is that of PipeWire, NODE the number of the node that is granted. Answers:
  cancelled, failed    the response to Start is 1 or 2
  silent               Start has no response
  mute                 CreateSession has no answer
  early                responses come before the answers of their calls
  no-screens           there is no interface for screens
  no-cursor            the cursor is never in the pictures
  old                  version 3, which keeps no permissions
  no-stream            Start gives no stream
It obeys lines of its input: "close" ends the session, the end of the input ends the portal.
"""

import json
import socket
import sys

import dbus
import dbus.lowlevel
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

SCREENS = "org.freedesktop.portal.ScreenCast"
CAMERA = "org.freedesktop.portal.Camera"
PATH = "/org/freedesktop/portal/desktop"


def log(call, sender, options):
    plain = {str(key): (str(value) if isinstance(value, str) else int(value)) for key, value in options.items()}
    print(json.dumps({"call": call, "options": plain}), flush=True)


class Portal(dbus.service.Object):
    def __init__(self, bus, path, node, answers):
        super().__init__(bus, PATH)
        self.bus, self.path, self.node, self.answers = bus, path, node, answers
        self.session, self.sender, self.granted = None, None, 0

    def signal(self, path, interface, member, signature, *values):
        message = dbus.lowlevel.SignalMessage(path, interface, member)
        message.append(signature=signature, *values)
        message.set_destination(self.sender)
        self.bus.send_message(message)

    def respond(self, sender, options, code=0, results=None):
        self.sender = sender
        name = sender[1:].replace(".", "_")
        path = f"{PATH}/request/{name}/{options['handle_token']}"
        if code is None:
            return dbus.ObjectPath(path)
        arguments = (path, "org.freedesktop.portal.Request", "Response", "ua{sv}", dbus.UInt32(code), results or {})
        if "early" in self.answers:
            self.signal(*arguments)
        else:
            GLib.idle_add(lambda: self.signal(*arguments) and False)
        return dbus.ObjectPath(path)

    def close(self):
        self.signal(self.session, "org.freedesktop.portal.Session", "Closed", "a{sv}", {})

    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        if interface == CAMERA:
            return {"version": dbus.UInt32(1), "IsCameraPresent": dbus.Boolean(True)}
        if "no-screens" in self.answers:
            raise dbus.exceptions.DBusException(
                "No such interface", name="org.freedesktop.DBus.Error.InvalidArgs")
        return {
            "version": dbus.UInt32(3 if "old" in self.answers else 4),
            "AvailableSourceTypes": dbus.UInt32(3),
            "AvailableCursorModes": dbus.UInt32(1 if "no-cursor" in self.answers else 7),
        }

    @dbus.service.method(SCREENS, in_signature="a{sv}", out_signature="o", sender_keyword="sender",
                         async_callbacks=("reply", "fail"))
    def CreateSession(self, options, sender, reply, fail):
        log("CreateSession", sender, options)
        if "mute" in self.answers:
            return
        self.session = f"{PATH}/session/{sender[1:].replace('.', '_')}/{options['session_handle_token']}"
        reply(self.respond(sender, options, 0, {"session_handle": self.session}))

    @dbus.service.method(SCREENS, in_signature="oa{sv}", out_signature="o", sender_keyword="sender")
    def SelectSources(self, session, options, sender):
        log("SelectSources", sender, options)
        return self.respond(sender, options, 0 if session == self.session else 2)

    @dbus.service.method(SCREENS, in_signature="osa{sv}", out_signature="o", sender_keyword="sender")
    def Start(self, session, parent, options, sender):
        log("Start", sender, options)
        if "cancelled" in self.answers or "failed" in self.answers:
            return self.respond(sender, options, 1 if "cancelled" in self.answers else 2)
        if "silent" in self.answers:
            return self.respond(sender, options, None)
        self.granted += 1
        stream = (dbus.UInt32(self.node), dbus.Dictionary({"source_type": dbus.UInt32(1)}, signature="sv"))
        streams = [] if "no-stream" in self.answers else [stream]
        results = {"streams": dbus.Array(streams, signature="(ua{sv})")}
        if "old" not in self.answers:
            results["restore_token"] = f"word {self.granted}"
        return self.respond(sender, options, 0, results)

    @dbus.service.method(CAMERA, in_signature="a{sv}", out_signature="o", sender_keyword="sender")
    def AccessCamera(self, options, sender):
        log("AccessCamera", sender, options)
        return self.respond(sender, options, 1 if "cancelled" in self.answers else 0)

    def connect(self):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(self.path)
        return dbus.types.UnixFd(connection)

    @dbus.service.method(SCREENS, in_signature="oa{sv}", out_signature="h")
    def OpenPipeWireRemote(self, session, options):
        return self.connect()


class WholePortal(Portal):
    """dbus-python finds a method of the same name and another interface in another class only."""

    @dbus.service.method(CAMERA, in_signature="a{sv}", out_signature="h")
    def OpenPipeWireRemote(self, options):
        return self.connect()


def main():
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.SessionBus()
    loop = GLib.MainLoop()

    def has_input(*_):
        line = sys.stdin.readline()
        if line.strip() == "close":
            portal.close()
        if not line:
            loop.quit()
        return bool(line)

    portal = WholePortal(bus, sys.argv[1], int(sys.argv[2]), sys.argv[3:])
    name = dbus.service.BusName("org.freedesktop.portal.Desktop", bus)
    GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, has_input)
    print(json.dumps({"call": "ready"}), flush=True)
    loop.run()
    del name


main()
