/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "gpu/neighbour_lists/unit_mail.h"

void unit_mail_serve(struct unit_mail *mail)
{
#pragma omp parallel for schedule(dynamic, 1)
  for (int32_t k = 0; k < mail->count; k++) {
    struct unit_mail_item *item = &mail->item[k];
    item->failed = unit_advance(&item->unit, &item->environment, &item->unit.field, item->from, item->to);
  }
}
