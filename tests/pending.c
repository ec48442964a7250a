/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pending SIGNAL PROGRAM ARGUMENT...: the program, with a signal that arrives before its first instruction, as where a
 * launcher passes one on at once: it is blocked and pending. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
  sigset_t one;
  if (argc < 3) return 2;
  int number = atoi(argv[1]);
  sigemptyset(&one);
  sigaddset(&one, number);
  sigprocmask(SIG_BLOCK, &one, NULL);
  raise(number);
  execvp(argv[2], argv + 2);
  perror(argv[2]);
  return 2;
}
