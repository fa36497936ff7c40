//! Rows R3 and R5 by ENet: connects with good cookies and nothing after them. An address has its share of
//! places and no more, and whoever does not finish has left them again soon.

use rejoin::wire::enet;

use crate::datagrams::{connect, cookie, honest_connect, socket_at};
use crate::house::House;

const SETTINGS: &str = "[enet]\nlisten = \"127.0.0.1:0\"\n[guard]\naddress_connections_max = 50\n\
                        address_connects_burst = 200\naddress_connects_per_second = 200\n";
const REFUSED: &str = "rejoin_connections_refused_total{what=\"connections\"}";

#[tokio::test(flavor = "multi_thread")]
async fn connects_that_lead_nowhere_cost_their_address_its_share_for_a_while() {
    let house = House::start(SETTINGS);
    let server = house.enet();
    let knock = move || {
        // All stay open: a port that is used again would be a peer that has a place already.
        let mut sockets = Vec::new();
        for id in 1..=150_u32 {
            let socket = socket_at([127, 0, 0, 2]);
            let cookie = cookie(&socket, server);
            socket.send_to(&enet::with_cookie(&cookie, &connect(id)), server).expect("it is sent");
            sockets.push(socket);
        }
    };
    tokio::task::spawn_blocking(knock).await.expect("no panic");
    house.until("all were looked at", |house| house.figure(REFUSED) == 100).await;
    let took = honest_connect(&house).await;
    println!("150 connects: 50 had a place, 100 were refused; an honest one in {took:?}");
    assert_eq!(house.figure("rejoin_connections_opened_total{transport=\"enet\"}"), 1);
    // Places are free again without anybody having said anything.
    let again = || {
        let socket = socket_at([127, 0, 0, 2]);
        let cookie = cookie(&socket, server);
        let before = house.figure(REFUSED);
        socket.send_to(&enet::with_cookie(&cookie, &connect(999)), server).expect("it is sent");
        let mut room = [0; 100];
        socket.recv_from(&mut room).is_ok() && house.figure(REFUSED) == before
    };
    house.until("there is a place again", |_| again()).await;
}
