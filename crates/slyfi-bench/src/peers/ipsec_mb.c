/* The few calls of Intel's ipsec-mb that the bench needs. Its API is macros over a table of function
 * pointers in a struct whose layout changes between versions, so C speaks to it. */
#include <intel-ipsec-mb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINKS 64

struct link {
    DECLARE_ALIGNED(uint32_t enc[44], 16);
    DECLARE_ALIGNED(uint32_t dec[44], 16);
    DECLARE_ALIGNED(uint32_t mac[44], 16);
    uint32_t k1[4], k2[4];
    uint8_t iv[16];
};

struct slyfi_imb {
    IMB_MGR *manager;
    struct link links[MAX_LINKS];
};

struct slyfi_imb *slyfi_imb_new(void)
{
    struct slyfi_imb *state = NULL;
    IMB_ARCH arch;
    if (posix_memalign((void **)&state, 64, sizeof *state) != 0)
        return NULL;
    memset(state, 0, sizeof *state);
    state->manager = alloc_mb_mgr(0);
    if (state->manager == NULL) {
        free(state);
        return NULL;
    }
    init_mb_mgr_auto(state->manager, &arch);
    return state;
}

void slyfi_imb_free(struct slyfi_imb *state)
{
    free_mb_mgr(state->manager);
    free(state);
}

void slyfi_imb_link(struct slyfi_imb *state, unsigned i, const uint8_t enc[16],
                    const uint8_t mac[16], const uint8_t iv[16])
{
    struct link *link = &state->links[i % MAX_LINKS];
    DECLARE_ALIGNED(uint32_t unused[44], 16);
    IMB_AES_KEYEXP_128(state->manager, enc, link->enc, link->dec);
    IMB_AES_KEYEXP_128(state->manager, mac, link->mac, unused);
    IMB_AES_CMAC_SUBKEY_GEN_128(state->manager, link->mac, link->k1, link->k2);
    memcpy(link->iv, iv, 16);
}

/* One frame of every link: CBC of frames[i] + 16 .. + 16 + len in place, then CMAC of the 16 bytes
 * before it and the ciphertext. `checked` is how jobs are submitted. Returns how many were
 * completed. */
unsigned slyfi_imb_seal(struct slyfi_imb *state, bool checked, unsigned count,
                        uint8_t *const *frames, uint64_t len, uint8_t (*tags)[16])
{
    IMB_MGR *manager = state->manager;
    IMB_JOB *job;
    unsigned done = 0;
    for (unsigned i = 0; i < count; i++) {
        struct link *link = &state->links[i % MAX_LINKS];
        job = IMB_GET_NEXT_JOB(manager);
        job->cipher_direction = IMB_DIR_ENCRYPT;
        job->chain_order = IMB_ORDER_CIPHER_HASH;
        job->cipher_mode = IMB_CIPHER_CBC;
        job->src = frames[i];
        job->dst = frames[i] + 16;
        job->cipher_start_src_offset_in_bytes = 16;
        job->msg_len_to_cipher_in_bytes = len;
        job->iv = link->iv;
        job->iv_len_in_bytes = 16;
        job->enc_keys = link->enc;
        job->dec_keys = link->dec;
        job->key_len_in_bytes = 16;
        job->hash_alg = IMB_AUTH_AES_CMAC;
        job->hash_start_src_offset_in_bytes = 0;
        job->msg_len_to_hash_in_bytes = 16 + len;
        job->u.CMAC._key_expanded = link->mac;
        job->u.CMAC._skey1 = link->k1;
        job->u.CMAC._skey2 = link->k2;
        job->auth_tag_output = tags[i];
        job->auth_tag_output_len_in_bytes = 16;
        job = checked ? IMB_SUBMIT_JOB(manager) : IMB_SUBMIT_JOB_NOCHECK(manager);
        for (; job != NULL; job = IMB_GET_COMPLETED_JOB(manager))
            done += job->status == IMB_STATUS_COMPLETED;
    }
    while ((job = IMB_FLUSH_JOB(manager)) != NULL)
        done += job->status == IMB_STATUS_COMPLETED;
    return done;
}

/* One message of every link, its encryption key as the key: AES-128-CCM in place with an eight-byte
 * tag and a nonce of thirteen. `checked` is how jobs are submitted. Returns how many were
 * completed. */
unsigned slyfi_imb_ccm_seal(struct slyfi_imb *state, bool checked, unsigned count,
                            uint8_t *const *messages, uint64_t len, const uint8_t nonce[13],
                            const uint8_t *aad, uint64_t aad_len, uint8_t (*tags)[8])
{
    IMB_MGR *manager = state->manager;
    IMB_JOB *job;
    unsigned done = 0;
    for (unsigned i = 0; i < count; i++) {
        struct link *link = &state->links[i % MAX_LINKS];
        job = IMB_GET_NEXT_JOB(manager);
        job->cipher_direction = IMB_DIR_ENCRYPT;
        job->chain_order = IMB_ORDER_HASH_CIPHER;
        job->cipher_mode = IMB_CIPHER_CCM;
        job->src = messages[i];
        job->dst = messages[i];
        job->cipher_start_src_offset_in_bytes = 0;
        job->msg_len_to_cipher_in_bytes = len;
        job->iv = nonce;
        job->iv_len_in_bytes = 13;
        job->enc_keys = link->enc;
        job->dec_keys = link->dec;
        job->key_len_in_bytes = 16;
        job->hash_alg = IMB_AUTH_AES_CCM;
        job->hash_start_src_offset_in_bytes = 0;
        job->msg_len_to_hash_in_bytes = len;
        job->u.CCM.aad = aad;
        job->u.CCM.aad_len_in_bytes = aad_len;
        job->auth_tag_output = tags[i];
        job->auth_tag_output_len_in_bytes = 8;
        job = checked ? IMB_SUBMIT_JOB(manager) : IMB_SUBMIT_JOB_NOCHECK(manager);
        for (; job != NULL; job = IMB_GET_COMPLETED_JOB(manager))
            done += job->status == IMB_STATUS_COMPLETED;
    }
    while ((job = IMB_FLUSH_JOB(manager)) != NULL)
        done += job->status == IMB_STATUS_COMPLETED;
    return done;
}
