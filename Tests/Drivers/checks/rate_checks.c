/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checker.h"

void check_everything(struct checker *checker)
{
    (void)checker;
}
