/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a process that is about to be ended (by `fatal`, by the watchdog, by whoever has ended another rank) still tells job scripts:
 * OutputDir/status then says state=failed and why, instead of running for ever, and OutputDir/cont is gone. Whichever rank it is
 * writes, since it is often rank 0 that hangs; of several the first reason stays. */
#ifndef LAST_WORDS_H
#define LAST_WORDS_H

/* From now on; `folder` is OutputDir, whose status file is this run's own. While it is `starting` the file is that of the job before,
 * interrupted for instance; later anything but "running" is an end that another rank has told already, and stays. "finished" stays always. */
void last_words_open(const char *folder, int rank, int starting);
void last_words_close(void);
#endif
