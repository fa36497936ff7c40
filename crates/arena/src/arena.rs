//! The game. Heroes go where their players want, take coins, and zap each other. A player whose
//! connection is gone leaves a ghost behind, which nobody can hurt, until it returns or its hold ends.
//! The last player who leaves switches off the light.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use rejoin_core::exchange::Hold;
use rejoin_core::id::SessionId;
use rejoin_core::wire::v1::PartCause;
use rejoin_core::zone::{
    Context, Disconnect, JoinDenied, RestoreRefused, Saved, Sender, Zone, ZoneConfig,
};
use serde::{Deserialize, Serialize};

use crate::field::{HEIGHT, Place, RADIUS, WIDTH, Way};
use crate::hero::Hero;
use crate::message::{Figure, Id, Joining, News, Order, Scene, read, write};
use crate::name;

/// How long a ghost waits for its player.
pub const HOLD: Duration = Duration::from_secs(15);
/// Bots in an arena with one or two players; each further player takes the place of one.
pub const BOTS_MAX: usize = 3;
/// How far a zap reaches, in units.
const REACH: i32 = 150;
/// Members at a time.
const MEMBERS_MAX: usize = 64;
/// Ticks between two new coins.
const COIN_EVERY: u64 = 12;
/// Coins at a time, however many play.
const COINS_MAX: usize = 40;
/// Every so manieth coin is worth more.
const GOLD_EVERY: u32 = 6;
/// What it is worth.
const GOLD: u32 = 5;
/// What the one gets whose zap fells another.
const FELLED: u32 = 3;
/// The key of the latest value that says where everybody is.
const WHERE: &str = "where";

/// The settings of the arena's kind of zone.
#[must_use]
pub fn config() -> ZoneConfig {
    ZoneConfig { hold: Hold::Timed(HOLD), members_max: MEMBERS_MAX, ..ZoneConfig::default() }
}

/// The arena's state, all of it saved at every cut.
#[derive(Default, Serialize, Deserialize)]
pub struct Arena {
    last_id: u32,
    last_coin: u32,
    heroes: Vec<Hero>,
    coins: BTreeMap<u32, Coin>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Coin {
    place: Place,
    worth: u32,
}

impl Coin {
    fn row(self, id: u32) -> [i32; 4] {
        [id as i32, self.place.x(), self.place.y(), self.worth as i32]
    }
}

impl Zone for Arena {
    type In = Order;
    type Out = News;

    fn on_join(
        &mut self,
        ctx: &mut Context<'_, News>,
        who: SessionId,
        request: Bytes,
    ) -> Result<Bytes, JoinDenied> {
        let bot = ctx.members().any(|member| member.session == who && member.is_native);
        if bot && self.count(true) >= bots_wanted(self.count(false)) {
            return Err(JoinDenied("enough players are here".to_owned()));
        }
        let joining = if request.is_empty() { Ok(Joining::default()) } else { read(&request) };
        let joining = joining.map_err(|error| JoinDenied(error.to_string()))?;
        self.last_id += 1;
        let id = self.last_id;
        let called = name::clean(&joining.name).unwrap_or_else(|| format!("Guest {id}"));
        let place = Place::anywhere(ctx.chance());
        let mut hero = Hero::new(id, who.0, called, place, ctx.tick());
        hero.bot = bot;
        ctx.broadcast_except(who, News::Came(figure(&hero, ctx)));
        self.heroes.push(hero);
        if !bot {
            self.send_bots_away(ctx);
        }
        Ok(write(&self.scene(ctx, id)))
    }

    fn on_part(&mut self, ctx: &mut Context<'_, News>, who: SessionId, _: PartCause) {
        let Some(index) = self.index(who) else { return };
        let gone = self.heroes.remove(index);
        ctx.broadcast(News::Left(Id { id: gone.id }));
        if self.count(false) == 0 {
            ctx.end();
        }
    }

    fn on_disconnect(&mut self, ctx: &mut Context<'_, News>, who: SessionId) -> Disconnect {
        self.set_away(ctx, who, true);
        Disconnect::Soft
    }

    fn on_reconnect(&mut self, ctx: &mut Context<'_, News>, who: SessionId) {
        self.set_away(ctx, who, false);
    }

    fn on_resync(&mut self, ctx: &mut Context<'_, News>, who: SessionId) -> Bytes {
        let you = self.index(who).map_or(0, |index| self.heroes[index].id);
        write(&self.scene(ctx, you))
    }

    fn on_message(&mut self, ctx: &mut Context<'_, News>, from: Sender, message: Order) {
        let Some(index) = self.index(from.session) else { return };
        match message {
            Order::Go([dx, dy]) => self.heroes[index].way = Way::asked(dx, dy),
            Order::Zap => self.zap(ctx, index),
            // A scene is long: only bots, which ask once, get it outside a join.
            Order::Look if self.heroes[index].bot => {
                let scene = self.scene(ctx, self.heroes[index].id);
                ctx.send(from.session, News::Scene(Box::new(scene)));
            }
            Order::Look => {}
            Order::Name(asked) => {
                let hero = &mut self.heroes[index];
                if let Some(name) = name::clean(&asked).filter(|name| *name != hero.name) {
                    hero.name.clone_from(&name);
                    ctx.broadcast(News::Named { id: hero.id, name });
                }
            }
        }
    }

    fn on_tick(&mut self, ctx: &mut Context<'_, News>) {
        self.meet_members(ctx);
        if self.count(false) == 0 {
            return;
        }
        let tick = ctx.tick();
        let mut moved = false;
        for hero in &mut self.heroes {
            moved |= hero.pass(tick);
        }
        moved |= self.take_coins(ctx);
        if tick.is_multiple_of(COIN_EVERY) {
            self.drop_coin(ctx);
        }
        if moved || !ctx.has_latest(WHERE) {
            self.tell_where(ctx);
        }
    }

    fn save(&self) -> Option<Bytes> {
        Some(write(self))
    }

    fn restore(&mut self, version: u32, saved: Saved) -> Result<(), RestoreRefused> {
        if version != Self::VERSION {
            return Err(RestoreRefused(format!("an arena of version {version} is not known")));
        }
        if let Some(snapshot) = saved.snapshot {
            *self = read(&snapshot).map_err(|error| RestoreRefused(error.to_string()))?;
        }
        Ok(())
    }
}

impl Arena {
    fn index(&self, session: SessionId) -> Option<usize> {
        self.heroes.iter().position(|hero| hero.session == session.0)
    }

    fn count(&self, bots: bool) -> usize {
        self.heroes.iter().filter(|hero| hero.bot == bots).count()
    }

    /// The bots that came last go first.
    fn send_bots_away(&self, ctx: &mut Context<'_, News>) {
        let many = self.count(true).saturating_sub(bots_wanted(self.count(false)));
        for hero in self.heroes.iter().rev().filter(|hero| hero.bot).take(many) {
            ctx.part(SessionId(hero.session));
        }
    }

    /// After a restart nobody has told who is still connected: the members say it.
    fn meet_members(&mut self, ctx: &mut Context<'_, News>) {
        let members: Vec<_> = ctx.members().collect();
        for member in members {
            self.set_away(ctx, member.session, !member.is_connected);
        }
    }

    fn set_away(&mut self, ctx: &mut Context<'_, News>, who: SessionId, away: bool) {
        let Some(index) = self.index(who) else { return };
        let hero = &mut self.heroes[index];
        if hero.away.is_some() == away {
            return;
        }
        if away {
            // Its player cannot steer it: it stands.
            hero.way = Way::default();
            hero.away = Some(ctx.age().as_millis() as u64);
            ctx.broadcast(News::Away { id: hero.id, ms: HOLD.as_millis() as u64 });
        } else {
            hero.away = None;
            ctx.broadcast(News::Back(Id { id: hero.id }));
        }
    }

    fn zap(&mut self, ctx: &mut Context<'_, News>, by: usize) {
        let tick = ctx.tick();
        if !self.heroes[by].take_zap(tick) {
            return;
        }
        let (place, id) = (self.heroes[by].place, self.heroes[by].id);
        let mut hit = Vec::new();
        for hero in self.heroes.iter_mut().filter(|hero| hero.id != id) {
            if hero.place.is_near(place, REACH) && hero.meet_zap(tick) {
                hit.push(hero.id);
            }
        }
        ctx.broadcast(News::Zap { id, hit });
        for fallen in 0..self.heroes.len() {
            if self.heroes[fallen].health > 0 {
                continue;
            }
            let elsewhere = Place::anywhere(ctx.chance());
            self.heroes[fallen].restart(elsewhere, tick);
            self.heroes[by].score += FELLED;
            let (fallen, score) = (self.heroes[fallen].id, self.heroes[by].score);
            ctx.broadcast(News::Fell { id: fallen, by: id, score });
        }
        self.tell_where(ctx);
    }

    fn take_coins(&mut self, ctx: &mut Context<'_, News>) -> bool {
        let before = self.coins.len();
        for hero in self.heroes.iter_mut().filter(|hero| hero.away.is_none()) {
            let reached = |coin: &&u32| self.coins[*coin].place.is_near(hero.place, RADIUS + 14);
            let reached: Vec<u32> = self.coins.keys().filter(reached).copied().collect();
            for coin in reached {
                let worth = self.coins.remove(&coin).map_or(0, |coin| coin.worth);
                hero.score += worth;
                ctx.broadcast(News::Took { id: hero.id, coin, score: hero.score });
            }
        }
        before != self.coins.len()
    }

    fn drop_coin(&mut self, ctx: &mut Context<'_, News>) {
        if self.coins.len() >= (8 + 2 * self.heroes.len()).min(COINS_MAX) {
            return;
        }
        self.last_coin += 1;
        let id = self.last_coin;
        let worth = if id.is_multiple_of(GOLD_EVERY) { GOLD } else { 1 };
        let coin = Coin { place: Place::anywhere(ctx.chance()), worth };
        self.coins.insert(id, coin);
        ctx.broadcast(News::Coin(coin.row(id)));
    }

    fn tell_where(&self, ctx: &mut Context<'_, News>) {
        let rows = self.heroes.iter().map(Hero::row).collect();
        ctx.latest(WHERE, News::Where(rows));
    }

    fn scene(&self, ctx: &Context<'_, News>, you: u32) -> Scene {
        let heroes = self.heroes.iter().map(|hero| figure(hero, ctx)).collect();
        let coins = self.coins.iter().map(|(id, coin)| coin.row(*id)).collect();
        Scene { you, width: WIDTH, height: HEIGHT, reach: REACH, heroes, coins }
    }
}

fn figure(hero: &Hero, ctx: &Context<'_, News>) -> Figure {
    hero.figure(ctx.age(), HOLD)
}

/// How many bots keep so many players company.
fn bots_wanted(players: usize) -> usize {
    if players == 0 { 0 } else { (BOTS_MAX + 2).saturating_sub(players.max(2)) }
}
