/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of kernels to the host (gpu/neighbour_lists/unit_mail.h), from a thread in the place of a kernel. */
#include <config.h>
#include <omp.h>
#include <pthread.h>
#include <unistd.h>

#include "gpu/neighbour_lists/unit_mail.c"
#include "tap.h"

enum { SLOTS = 64, REQUESTS = UNIT_MAIL_RING + 4096, PATIENCE = 10000, POLL_MICROSECONDS = 1000 };

struct kernel {
  struct unit_mail *mail;
  int64_t asked, served; /* requests */
  int began, ended;
  int patience; /* milliseconds left */
};

static int waits(const struct kernel *kernel) { return __atomic_load_n(&kernel->patience, __ATOMIC_RELAXED) > 0; }

static void wait_a_little(struct kernel *kernel)
{
  usleep(POLL_MICROSECONDS);
  __atomic_sub_fetch(&kernel->patience, 1, __ATOMIC_RELAXED);
}

/* Whether the slot is free: its last request has been served. */
static int is_free(const struct unit_mail *mail, int slot, int64_t last)
{
  return __atomic_load_n(&mail->item[slot].done, __ATOMIC_ACQUIRE) >> UNIT_MAIL_BODY_BITS == last;
}

static void *run_kernel(void *context)
{
  struct kernel *kernel = context;
  struct unit_mail *mail = kernel->mail;
  int64_t last[SLOTS] = {0};
  while (!__atomic_load_n(&kernel->began, __ATOMIC_ACQUIRE)) sched_yield();
  for (int64_t request = 1, slot = 0; request <= REQUESTS; request++) {
    for (slot = (slot + 1) % SLOTS; !is_free(mail, (int)slot, last[slot]); slot = (slot + 1) % SLOTS) sched_yield();
    last[slot] = request;
    __atomic_store_n(&mail->ring[request % UNIT_MAIL_RING], request << UNIT_MAIL_SLOT_BITS | slot, __ATOMIC_RELEASE);
    __atomic_store_n(&kernel->asked, request, __ATOMIC_RELEASE);
  }
  for (int slot = 0; slot < SLOTS; slot++)
    while (!is_free(mail, slot, last[slot]) && waits(kernel)) wait_a_little(kernel);
  for (int slot = 0; slot < SLOTS; slot++) kernel->served += is_free(mail, slot, last[slot]);
  __atomic_store_n(&kernel->ended, 1, __ATOMIC_RELEASE);
  return NULL;
}

/* As if thread 0 did not run, for as long as the others serve more requests than the ring has entries. */
static int sleep_long(void *context)
{
  struct kernel *kernel = context;
  __atomic_store_n(&kernel->began, 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(&kernel->asked, __ATOMIC_ACQUIRE) < REQUESTS && waits(kernel)) wait_a_little(kernel);
  return __atomic_load_n(&kernel->ended, __ATOMIC_ACQUIRE);
}

static int has_ended(void *context)
{
  struct kernel *kernel = context;
  __atomic_store_n(&kernel->began, 1, __ATOMIC_RELEASE);
  return __atomic_load_n(&kernel->ended, __ATOMIC_ACQUIRE);
}

static void serve_kernel(int threads, int (*ended)(void *), const char *what)
{
  static struct unit_mail mail;
  static struct unit_mail_item item[SLOTS];
  struct unit_body bodies[2] = {{.star = {0, -1}, .m = 1, .x = {1}}, {.star = {1, -1}, .m = 1, .x = {-1}}};
  struct kernel kernel = {.mail = &mail, .patience = PATIENCE};
  pthread_t thread;
  memset(&mail, 0, sizeof mail);
  memset(item, 0, sizeof item);
  mail.rules = (struct unit_rules){.r1 = 10, .entry = 1, .error = 1, .soft_step = 100};
  mail.item = item;
  mail.slots = SLOTS;
  for (int slot = 0; slot < SLOTS; slot++) unit_make(&item[slot].unit, &mail.rules, 2, bodies, 0, 10);
  omp_set_num_threads(threads);
  if (pthread_create(&thread, NULL, run_kernel, &kernel)) exit(1);
  unit_mail_serve(&mail, ended, &kernel);
  pthread_join(thread, NULL);
  tap_ok(kernel.served == SLOTS && mail.served == REQUESTS, what);
}

int main(void)
{
  serve_kernel(1, has_ended, "one thread serves all requests");
  serve_kernel(3, has_ended, "three threads do");
  serve_kernel(3, sleep_long, "no request waits for a thread that does not run");
  return tap_end();
}
