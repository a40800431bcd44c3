/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_SAFETENSORS_H
#define RELAYOUT_SAFETENSORS_H

#include "relayout/digest.h"
#include "relayout/shape.h"
#include "relayout/storage.h"

RLO_BEGIN_DECLS

/*
 * Weights in safetensors files: a JSON header with the name, type, dimensions
 * and place of each member, and behind it the bytes of the members, without a gap.
 * A file, or a folder of files with an index, is read here as one list of members;
 * a list of members becomes the headers and the index of files to be written.
 *
 * These functions are in a library of their own, librelayout-safetensors, which
 * is built where jansson is found. Link relayout::safetensors in CMake, which
 * find_package(relayout COMPONENTS safetensors) defines, or relayout-safetensors
 * with pkg-config.
 *
 * The shape of a member. Its bytes are the plain row-major array of the header's
 * type and dimensions, elements of 4 and 6 bits packed, unless the file's metadata have
 * a text for "relayout:NAME": that is the shape then, as rlo_shape_parse reads it. The
 * header of such a member has one dimension, so that who does not know of the
 * text cannot take it for a plain array: the slots of the shape, or bytes where the
 * format has no such elements.
 *
 * A text for "relayout.digest:NAME" is the digest of the member's array: 32 hexadecimal
 * digits, which no layout changes.
 *
 * Errors. Sentences name the file and the member. Failures of the system are
 * RLO_NOT_FOUND and RLO_IO.
 * Threads: an open list and a plan are only read.
 */

/** The longest header, and the longest index, that are read and written, in
 *  bytes. That of a header is the format's. */
#define RLO_SAFETENSORS_MAX_HEADER_BYTES 100000000

/** Begins the keys of metadata that say of which sharding a member is a device's part. */
#define RLO_SAFETENSORS_SHARDING_KEY "sharding:"

/** An entry of a file's metadata. */
typedef struct rlo_safetensors_text {
  const char *key;
  const char *value;
} rlo_safetensors_text;

/* ----------------------------------------------------------------- reading */

/** The members of a file, or of the files of a folder, which are open. */
typedef struct rlo_safetensors rlo_safetensors;

/** A member. Begin with RLO_SAFETENSORS_MEMBER_INIT. */
typedef struct rlo_safetensors_member {
  /** sizeof(rlo_safetensors_member). */
  size_t struct_size;
  /** Borrowed from the list. */
  const char *name;
  /** Its type in the header, such as "BF16". Static. */
  const char *type_name;
  /** Number of the file that holds it. */
  int32_t file;
  /** Where its bytes begin, from the start of the file, and how many there are:
   *  the physical bytes of the shape. */
  int64_t offset_bytes;
  int64_t bytes;
  rlo_shape shape;
  /** The texts of its file's metadata for RLO_SAFETENSORS_SHARDING_KEY NAME, of which the
   *  shape is that of one device's part; for "relayout.digest:NAME"; and for
   *  RLO_RECIPE_KEY NAME (recipe.h). Not checked, borrowed from the list; NULL: there is
   *  none. */
  const char *sharding;
  const char *digest;
  const char *made_by;
} rlo_safetensors_member;

#define RLO_SAFETENSORS_MEMBER_INIT \
  { .struct_size = sizeof(rlo_safetensors_member) }

/**
 * Opens a file, or the files of an index, and reads and checks their headers.
 *
 * @param path  a file; an index, whose name ends in ".index.json"; or a folder: its
 *              model.safetensors.index.json, or without one its model.safetensors. Files
 *              of an index lie beside it. Each stays open.
 * @param out_list  owned by the caller; rlo_safetensors_release frees it. NULL on
 *              failure.
 * @return RLO_OK; RLO_PARSE for what is no header or no index: no JSON, a name twice,
 *         members with gaps or overlaps, a size that is not that of type and
 *         dimensions, bits that fill no byte, a layout that does not fit, an index that
 *         names a file outside of its folder or a member that is not there;
 *         RLO_DATA_LOSS if a file is shorter or longer than its members;
 *         RLO_UNSUPPORTED for an unknown type, beyond RLO_MAX_RANK and beyond
 *         RLO_SAFETENSORS_MAX_HEADER_BYTES; RLO_OVERFLOW; RLO_INVALID_ARGUMENT
 *         for a NULL; RLO_OUT_OF_MEMORY; RLO_NOT_FOUND; RLO_IO.
 */
RLO_API RLO_NODISCARD rlo_status rlo_safetensors_open(const char *path, rlo_safetensors **out_list);

/** Opens the files of several paths as one list, each as rlo_safetensors_open does. A
 *  member that two of them have is RLO_PARSE. */
RLO_API RLO_NODISCARD rlo_status rlo_safetensors_open_all(const char *const *paths, int64_t count,
                                                          rlo_safetensors **out_list);

/** Closes the files. NULL is legal. */
RLO_API void rlo_safetensors_release(rlo_safetensors *list);

/** Returns the number of members; 0 for NULL. They are numbered file by file, as
 *  the index first names the files, and by their place in the file. */
RLO_API int64_t rlo_safetensors_num_members(const rlo_safetensors *list);

/** Returns the number of files; 0 for NULL. */
RLO_API int32_t rlo_safetensors_num_files(const rlo_safetensors *list);

/** Returns the path of a file, borrowed; NULL for a number that is none. */
RLO_API const char *rlo_safetensors_file_path(const rlo_safetensors *list, int32_t file);

/** Gets a member.
 *  @param out_member  its struct_size is read.
 *  @return RLO_OK; RLO_OUT_OF_RANGE for a number that is none; RLO_INVALID_ARGUMENT
 *          for a NULL or another struct_size. */
RLO_API RLO_NODISCARD rlo_status rlo_safetensors_get_member(const rlo_safetensors *list, int64_t n,
                                                            rlo_safetensors_member *out_member);

/** Returns the number of the member of a name; -1 if there is none. */
RLO_API int64_t rlo_safetensors_find(const rlo_safetensors *list, const char *name);

/** Returns the number of the first member from `n` on whose name a pattern of the
 *  shell's matches, "model.layers.*.q_proj.weight", in which * takes dots; -1 if there
 *  is none. */
RLO_API int64_t rlo_safetensors_match(const rlo_safetensors *list, const char *pattern, int64_t n);

/** Returns the metadata of all files, `*out_count` texts, borrowed from the list. Of
 *  a key that several files have, the text of the first one. NULL for NULL. */
RLO_API const rlo_safetensors_text *rlo_safetensors_metadata(const rlo_safetensors *list,
                                                             int64_t *out_count);

/** Makes a read-only storage of a member's bytes, which may outlive the list.
 *  @param hints  as of rlo_storage_from_fd; NULL for none.
 *  @return RLO_OUT_OF_RANGE for a number that is none; else as rlo_storage_from_fd. */
RLO_API RLO_NODISCARD rlo_status rlo_safetensors_storage(const rlo_safetensors *list, int64_t n,
                                                         const rlo_storage_traits *hints,
                                                         rlo_storage **out_storage);

/* ---------------------------------------------------------------- planning */

/**
 * Which file has which members, where, and the headers: pure, nothing is written.
 *
 * The format allows no gap between members, so that only their order and the length
 * of the header align them. The members of a file begin at a multiple of 64 bytes,
 * of 4096 if one of them has 1 MiB or more. Members of whole 4096 bytes come
 * first, then those of whole 64, then the others by what their size is a multiple of;
 * otherwise their order stays. So each is aligned to 4096 or 64 bytes if its size
 * is a multiple of that, and any to its elements.
 */
typedef struct rlo_safetensors_plan rlo_safetensors_plan;

/** Begin with RLO_SAFETENSORS_PLAN_OPTIONS_INIT. */
typedef struct rlo_safetensors_plan_options {
  /** sizeof(rlo_safetensors_plan_options). */
  size_t struct_size;
  /** The most bytes of members in a file, but for a file of one member: the files
   *  are those of a folder, with an index if there is more than one. 0: all are in
   *  one file. */
  int64_t shard_bytes;
  /** The metadata of each file, copied. Keys that begin as those of a shape, a digest, a
   *  sharding or RLO_RECIPE_KEY are left out: they are made of the shapes and what follows. */
  const rlo_safetensors_text *metadata;
  int64_t num_metadata;
  /** As many as members: their digests (rlo_digest_finish), written to the metadata; NULL:
   *  none are. Their values do not change the length of a header. */
  const rlo_digest *digests;
  /** As many as members, of which each may be NULL: their texts, copied; NULL: none are. */
  const char *const *shardings;
  const char *const *made_by;
} rlo_safetensors_plan_options;

#define RLO_SAFETENSORS_PLAN_OPTIONS_INIT \
  { sizeof(rlo_safetensors_plan_options), 0, NULL, 0, NULL, NULL, NULL }

/** Where the bytes of a member go. */
typedef struct rlo_safetensors_place {
  int32_t file;
  /** From the start of the file. */
  int64_t offset_bytes;
  int64_t bytes;
} rlo_safetensors_place;

/** A file to be written. */
typedef struct rlo_safetensors_file {
  /** "model-00001-of-00003.safetensors"; "model.safetensors" for a single one. NULL
   *  without shard_bytes: the caller's. */
  const char *name;
  /** The length and the header: the first bytes of the file. */
  const void *head;
  int64_t head_bytes;
  /** Of the whole file. */
  int64_t bytes;
} rlo_safetensors_file;

/**
 * Plans files for members.
 *
 * @param names   `count` distinct texts in UTF-8.
 * @param shapes  `count` of them: member n is the physical bytes of shapes[n].
 * @param options  NULL: one file, no metadata.
 * @param out_plan  owned by the caller; rlo_safetensors_plan_release frees it. NULL
 *                on failure.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL, a name that is there twice, is no
 *         UTF-8 or is "__metadata__", a negative number or another struct_size;
 *         RLO_UNSUPPORTED for a header beyond RLO_SAFETENSORS_MAX_HEADER_BYTES;
 *         RLO_OVERFLOW; RLO_OUT_OF_MEMORY; the statuses of rlo_shape_validate.
 */
RLO_API RLO_NODISCARD rlo_status rlo_safetensors_plan_create(
    const char *const *names, const rlo_shape *const *shapes, int64_t count,
    const rlo_safetensors_plan_options *options, rlo_safetensors_plan **out_plan);

/** NULL is legal. */
RLO_API void rlo_safetensors_plan_release(rlo_safetensors_plan *plan);

/** Returns the number of files; 0 for NULL. */
RLO_API int32_t rlo_safetensors_plan_num_files(const rlo_safetensors_plan *plan);

/** Returns a file, borrowed from the plan; NULL for a number that is none. */
RLO_API const rlo_safetensors_file *rlo_safetensors_plan_file(const rlo_safetensors_plan *plan,
                                                              int32_t file);

/** Returns where member n goes, borrowed from the plan; NULL for a number that is
 *  none. */
RLO_API const rlo_safetensors_place *rlo_safetensors_plan_place(const rlo_safetensors_plan *plan,
                                                                int64_t n);

/** Returns the text of model.safetensors.index.json, borrowed from the plan; NULL
 *  if there is one file, which needs none. */
RLO_API const char *rlo_safetensors_plan_index(const rlo_safetensors_plan *plan);

RLO_END_DECLS

#endif
