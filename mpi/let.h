/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchange of locally essential trees. */
#ifndef LET_H
#define LET_H
#include "backend.h"
#include "comm.h"

struct let_traffic {
  struct let_count received;  /* entries of the trees; refreshes bring no new ones */
  int64_t bytes;              /* sent */
};

/* Publish this rank's boxes, select for everyone, exchange, attach. The request's boxes are filled in here. Collective. */
void let_exchange(const struct comm *c, const struct backend *be, struct device *d, enum let_kind kind, struct let_request request,
                  struct let_traffic *traffic);
/* Send the LETs of the last let_exchange of this kind again with present positions. Collective. */
void let_refresh(const struct comm *c, const struct backend *be, struct device *d, enum let_kind kind, struct let_traffic *traffic);
#endif
