// SPDX-License-Identifier: GPL-2.0-or-later
//
// GnuTLS, for streams over TLS.

#ifndef CGNUTLS_SHIM_H
#define CGNUTLS_SHIM_H

#include <gnutls/gnutls.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>

#endif
