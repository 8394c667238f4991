/* SBKH: do two ends find each other again, and do they ever use keystream twice?
 *
 * Two nodes send packets to each other; direction d is node d's. A packet's place in the keystream is
 * (epoch, number in the epoch, bytes of the epoch used before it); lengths are 1 or 2, so that a
 * receiver that missed a packet cannot know where the next one begins. An ICV is right exactly when
 * the receiver decrypts from the place where the sender encrypted.
 *
 * One transmission is one step: 802.11 keeps the medium reserved from the frame to its acknowledgement.
 * Between transmissions, retransmissions included, anything of the other node may happen.
 *
 * TROUBLE times a transmission may be lost, or its acknowledgement, or be stopped and its
 * acknowledgement forged; REBOOTS times a node may restart, keeping only what it stored; REPLAYS times
 * an old frame may be heard again, and FORGERIES times a frame with an invented counter.
 *
 * Claims, checked on every path: no keystream is used twice; no payload is taken twice or out of order;
 * nothing deadlocks; when the trouble is over, SETTLE packets each way suffice for the last of them to
 * arrive, and both directions are synchronous.
 *
 * Compiled with HARDWARE_ACK every frame that arrives is acknowledged, as 802.11 cards do; without, only
 * frames that open are. The twins FORGETFUL_SENDER, FORGETFUL_RECEIVER and NO_REQUEST take one rule
 * away and must fail.
 */

#ifndef DATA
#define DATA 2
#endif
#ifndef TROUBLE
#define TROUBLE 2
#endif
#ifndef REBOOTS
#define REBOOTS 1
#endif
#ifndef REPLAYS
#define REPLAYS 1
#endif
#ifndef FORGERIES
#define FORGERIES 0
#endif
/* Bytes in an epoch: the S-Offset. When it is small, epochs end by themselves and heal much. */
#ifndef CAPACITY
#define CAPACITY 4
#endif
#define SETTLE 3
#define TRIES 2

#define NONE 0
#define PAYLOAD 1
#define REQUEST 2

/* Sender of direction d: the place of its next packet. */
byte s_epoch[2], s_number[2], s_used[2];
/* What it stored: the first epoch that it never used. */
byte s_stored[2];
/* Receiver of direction d: the place of the packet it waits for. */
byte r_epoch[2], r_number[2], r_used[2];
/* What it stored: the first epoch of which it accepted nothing. */
byte r_stored[2];
/* The last accepted packet, for its retransmission. */
bool l_valid[2];
byte l_epoch[2], l_number[2], l_used[2];
/* The packet that node d keeps until it is acknowledged. */
byte kind[2], f_epoch[2], f_number[2], f_used[2], f_id[2], tries[2];
/* An old frame of direction d, kept by the adversary. */
bool o_valid[2];
byte o_epoch[2], o_number[2], o_used[2], o_len[2], o_id[2];
byte f_len[2];
/* Node d has lost the other's direction; it has asked, and the question was acknowledged. */
bool lost[2], asked[2];
/* Payloads made and taken in direction d; the keystream used so far. */
byte made[2], taken[2], high_epoch[2], high_used[2];

byte trouble = TROUBLE, reboots = REBOOTS, replays = REPLAYS, forgeries = FORGERIES;
byte finished = 0, settled = 0;

#define synchronous(d) \
    ((s_epoch[d] == r_epoch[d] && s_number[d] == r_number[d] && s_used[d] == r_used[d]) \
     || (s_number[d] == 0 && s_epoch[d] > r_epoch[d]))

#ifdef NO_REQUEST
#define wants_to_ask(n) false
#else
#define wants_to_ask(n) (lost[n] && !asked[n] && kind[n] == NONE)
#endif

#define quiet (kind[0] == NONE && kind[1] == NONE && !wants_to_ask(0) && !wants_to_ask(1))

inline next_epoch(d)
{
    s_epoch[d]++; s_number[d] = 0; s_used[d] = 0
}

/* The sender's part of resynchronisation: S-Offset bytes on, unless the epoch is untouched. */
inline resynchronise(d)
{
    if
    :: s_number[d] > 0 -> next_epoch(d)
    :: else
    fi
}

inline seal(d, k)
{
    if
    :: f_len[d] = 1
    :: f_len[d] = 2
    fi;
    if
    :: s_used[d] + f_len[d] > CAPACITY -> next_epoch(d)
    :: else
    fi;
    kind[d] = k; tries[d] = 0;
    f_epoch[d] = s_epoch[d]; f_number[d] = s_number[d]; f_used[d] = s_used[d];
    if
    :: k == PAYLOAD -> made[d]++; f_id[d] = made[d]
    :: else -> f_id[d] = 0
    fi;
    /* No keystream twice. */
    assert(s_epoch[d] > high_epoch[d] || (s_epoch[d] == high_epoch[d] && s_used[d] >= high_used[d]));
    s_used[d] = s_used[d] + f_len[d]; s_number[d]++;
    high_epoch[d] = s_epoch[d]; high_used[d] = s_used[d];
    s_stored[d] = s_epoch[d] + 1
}

/* The receiver of direction d hears a frame; `ok` says whether it opened, as new or as the last again. */
inline hear(dir, an_epoch, a_number, a_used, a_len, an_id)
{
    ok = false;
    if
    :: l_valid[dir] && an_epoch == l_epoch[dir] && a_number == l_number[dir] -> ok = (a_used == l_used[dir])
    :: else ->
        if
        :: (an_epoch == r_epoch[dir] && a_number == r_number[dir] && a_used == r_used[dir]) || (an_epoch > r_epoch[dir] && a_number == 0 && a_used == 0) ->
            ok = true;
            l_valid[dir] = true; l_epoch[dir] = an_epoch; l_number[dir] = a_number; l_used[dir] = a_used;
            r_epoch[dir] = an_epoch; r_number[dir] = a_number + 1; r_used[dir] = a_used + a_len;
            r_stored[dir] = an_epoch + 1;
            lost[1 - dir] = false;
            if
            :: an_id == 0 -> resynchronise(1 - dir)
            :: else ->
                /* No payload twice, and none out of order. */
                assert(an_id > taken[dir]);
                taken[dir] = an_id
            fi
        :: else ->
            if
            :: a_number > 0 && (an_epoch > r_epoch[dir] || (an_epoch == r_epoch[dir] && a_number > r_number[dir])) -> lost[1 - dir] = true
            :: else
            fi
        fi
    fi;
    if
    :: !ok || !lost[1 - dir] -> asked[1 - dir] = false
    :: else
    fi
}

inline acknowledged(n)
{
    if
    :: kind[n] == REQUEST -> asked[n] = true
    :: else
    fi;
    kind[n] = NONE
}

inline transmit(n)
{
    tries[n]++;
    if
    :: true ->
        hear(n, f_epoch[n], f_number[n], f_used[n], f_len[n], f_id[n]);
        if
        :: ok && !o_valid[n] && f_id[n] > 0 ->
            o_valid[n] = true; o_epoch[n] = f_epoch[n]; o_number[n] = f_number[n];
            o_used[n] = f_used[n]; o_len[n] = f_len[n]; o_id[n] = f_id[n]
        :: else
        fi;
        if
#ifdef HARDWARE_ACK
        :: true -> acknowledged(n)
#else
        :: ok -> acknowledged(n)
        :: !ok
#endif
        /* Its acknowledgement is lost. */
        :: trouble > 0 -> trouble--
        fi
    /* The frame is lost. */
    :: trouble > 0 -> trouble--
    /* The frame is stopped and its acknowledgement forged. */
    :: trouble > 0 -> trouble--; acknowledged(n)
    fi;
    ok = false
}

/* Node n restarts: what it was sending is gone, and so is all state but what it stored. */
inline reboot(n)
{
    kind[n] = NONE; tries[n] = 0;
#ifdef FORGETFUL_SENDER
    s_epoch[n] = 0;
#else
    s_epoch[n] = s_stored[n];
#endif
    s_number[n] = 0; s_used[n] = 0;
#ifdef FORGETFUL_RECEIVER
    r_epoch[1 - n] = 0;
#else
    r_epoch[1 - n] = r_stored[1 - n];
#endif
    r_number[1 - n] = 0; r_used[1 - n] = 0;
    l_valid[1 - n] = false; l_epoch[1 - n] = 0; l_number[1 - n] = 0; l_used[1 - n] = 0;
    lost[n] = true; asked[n] = false
}

proctype Node(byte n)
{
    bool ok;
    byte left = DATA;
    bool done = false;

    do
    :: atomic { wants_to_ask(n) ->
        /* At the front of an epoch, where the peer can open it whatever it has missed. */
        resynchronise(n);
        seal(n, REQUEST) }
    :: atomic { kind[n] == NONE && left > 0 && !wants_to_ask(n) -> seal(n, PAYLOAD); left-- }
    :: atomic { kind[n] != NONE && tries[n] < TRIES -> transmit(n) }
    :: atomic { kind[n] != NONE && tries[n] == TRIES -> kind[n] = NONE; resynchronise(n) }
    :: atomic { reboots > 0 && !done -> reboots--; reboot(n) }
    :: atomic { left == 0 && kind[n] == NONE && !done -> done = true; finished++ }
    :: atomic { finished == 2 && settled == 0 -> trouble = 0; reboots = 0; replays = 0; forgeries = 0; settled = 1 }
    /* The trouble is over. Requests that are due go before further packets. */
    :: atomic { settled > 0 && settled <= 2 * SETTLE && (settled & 1) == n && quiet -> seal(n, PAYLOAD); settled++ }
    :: atomic { settled > 2 * SETTLE && quiet -> break }
    od
}

proctype Adversary()
{
    bool ok;

end:
    do
    :: atomic { replays > 0 && o_valid[0] -> replays--; hear(0, o_epoch[0], o_number[0], o_used[0], o_len[0], o_id[0]); ok = false }
    :: atomic { replays > 0 && o_valid[1] -> replays--; hear(1, o_epoch[1], o_number[1], o_used[1], o_len[1], o_id[1]); ok = false }
    /* An invented counter: the place can never be right, so only the claim to be later counts. */
    :: atomic { forgeries > 0 -> forgeries--; lost[0] = true; asked[0] = false }
    :: atomic { forgeries > 0 -> forgeries--; lost[1] = true; asked[1] = false }
    :: atomic { settled > 0 -> break }
    od
}

init
{
    atomic { run Node(0); run Node(1); run Adversary() };
    /* Both nodes are through, and the adversary too. */
    (_nr_pr == 1);
    assert(taken[0] == made[0]);
    assert(taken[1] == made[1]);
    assert(synchronous(0));
    assert(synchronous(1))
}
