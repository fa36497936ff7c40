//! One contract for every transport: framing, back-pressure, close codes, bounds and endings. Each
//! case is written once and run on all of them, in every encoding it has; a new transport joins by an
//! implementation of [`dial::Transport`] and a line here.

mod cases;
mod compressed;
mod datagrams;
mod dial;
mod hop;
mod required;
mod speaker;

/// Runs every case on a transport.
macro_rules! contract {
    ($name:ident, $transport:path, $($case:ident,)*) => {
        mod $name {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    for encoding in <$transport as crate::dial::Transport>::ENCODINGS {
                        crate::cases::$case($transport, *encoding).await;
                    }
                }
            )*
        }
    };
}

macro_rules! for_every_transport {
    ($($case:ident,)*) => {
        contract!(websocket, crate::dial::Web, $($case,)*);
        contract!(tcp, crate::dial::Stream, $($case,)*);
        contract!(enet, crate::datagrams::Datagrams, $($case,)*);
        contract!(local, crate::dial::InProcess, $($case,)*);
    };
}

for_every_transport! {
    one_message_is_one_frame_and_order_holds,
    the_largest_message_fits_and_one_byte_more_is_too_large,
    garbage_is_malformed_and_harms_nobody_else,
    a_stranger_has_less_room_than_a_guest,
    nothing_said_is_closed_by_the_handshake_deadline,
    who_never_reads_is_let_go_as_too_slow,
    who_reads_late_still_hears_everything,
    a_greedy_sender_is_slowed_down_and_loses_nothing,
    megabytes_at_once_flow_whole_and_in_order,
    the_code_of_every_ending_reaches_the_peer,
    whoever_vanishes_leaves_nothing_but_a_held_session,
    a_stop_tells_everybody_whatever_they_are_doing,
    frames_are_compressed_for_those_who_agreed_and_for_nobody_else,
    what_is_inflated_ends_at_the_limit_and_harms_nobody_else,
    a_compressed_frame_that_was_not_agreed_on_is_out_of_state,
}
