# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs VA-API clients under the fake render node and the reference driver, and judges what came of it."""
