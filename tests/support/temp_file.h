/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_TEMP_FILE_H
#define RLO_TESTS_SUPPORT_TEMP_FILE_H

/** Opens a new, empty file without a name: it goes with its descriptors. Fails
 *  the test if it cannot. */
int temp_file_open(void);

/** Opens the file of a descriptor once more, with flags of open(). */
int temp_file_reopen(int fd, int flags);

enum { TEMP_FOLDER_CHARS = 64 };

/** Makes a new folder, in memory where there is one, so that nothing waits for
 *  a disk, and sets its path. Fails the test if it cannot. */
void temp_folder_make(char path[TEMP_FOLDER_CHARS]);

/** How many names are in a folder. */
int temp_folder_count(const char *path);

/** Removes them. */
void temp_folder_clear(const char *path);

/** Removes a folder and all that is in it, folders too. */
void temp_folder_remove(const char *path);

#endif
