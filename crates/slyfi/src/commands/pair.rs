//! `slyfi pair` and `slyfi revoke`: by the running daemon, or on the store when none runs.

use super::{find_daemon, print, print_json, role_of, strange_answer};
use crate::cli::{PairArgs, RevokeArgs};
use crate::output::{Paint, span};
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use slyfi_base::UnixTime;
use slyfi_link::config::Role;
use slyfi_link::control::{Answer, NewInvite, Request};
use slyfi_link::logging::Stamp;
use slyfi_link::store::{Missing, Store};
use slyfi_link::{Error, ErrorKind, Result, pairing};
use slyfi_linux::{Clock, OsRandom};
use std::fmt::Write;

/// Makes an invite and shows it.
pub fn pair(args: &PairArgs, paint: Paint) -> Result<()> {
    let mut config = args.target.to_config()?;
    let invite = match find_daemon(&args.target, &config)? {
        Some(mut client) => {
            if args.name.is_some() {
                let cause = "the network's name is the running daemon's";
                return Err(Error::new(ErrorKind::Usage, cause, "leave --name out"));
            }
            let valid_s = args.valid.0.as_secs();
            match client.ask(&Request::Pair { label: args.label.clone(), valid_s })? {
                Answer::Invite(invite) => invite,
                _ => return Err(strange_answer()),
            }
        }
        None => {
            if let Some(name) = &args.name {
                config.network.name.clone_from(name);
            }
            let role = args.target.role.map_or(Role::AccessPoint, Role::from);
            let mut store = Store::open(&config.store_dir(role), Missing::Create)?;
            let wall = Clock::new().now().wall;
            let (label, valid) = (&args.label, args.valid.0);
            pairing::make_invite(&mut store, &config.network, label, valid, wall, &mut OsRandom)?.1
        }
    };
    if args.json {
        return print_json(&invite);
    }
    print(&describe(&invite, args, paint)?)
}

/// Returns an invite for people: what it is, the URL, the QR code, and what comes next.
fn describe(invite: &NewInvite, args: &PairArgs, paint: Paint) -> Result<String> {
    let expires = Stamp(UnixTime::from_secs(invite.expires_s)).to_string();
    let expires = expires.get(..16).unwrap_or(&expires).replace('T', " ");
    let valid = span(args.valid.0.as_secs());
    let device = match &invite.label[..] {
        "" => "one device".to_owned(),
        label => format!("one device, {label}"),
    };
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "{} to {} for {device}, until {expires} UTC ({valid}); id {}\n\n  {}\n",
        paint.bold("Invite"),
        invite.network,
        invite.id.get(..8).unwrap_or(&invite.id),
        paint.bold(&invite.url),
    );
    if !args.no_qr {
        out.push_str(&qr(&invite.url)?);
        out.push('\n');
    }
    let _ = writeln!(out, "On the device:  slyfi join '{}'", invite.url);
    if !invite.daemon_runs {
        let _ = writeln!(out, "And here:       slyfi ap   (none runs with this store now)");
    }
    let _ = writeln!(
        out,
        "{}",
        paint.dim(
            "Whoever sees the URL before it is used can join in its place: hand it over in person."
        )
    );
    Ok(out)
}

/// Draws a QR code in half-height blocks, dark on light as scanners expect it.
fn qr(text: &str) -> Result<String> {
    let code = QrCode::new(text.as_bytes())
        .map_err(|e| Error::new(ErrorKind::System, format!("QR code: {e}"), "use --no-qr"))?;
    // On a dark terminal the characters are light, so light modules are the drawn ones.
    let drawn =
        code.render::<Dense1x2>().dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build();
    Ok(drawn + "\n")
}

/// Forgets a pairing or an invite.
pub fn revoke(args: &RevokeArgs) -> Result<()> {
    let config = args.target.to_config()?;
    if let Some(mut client) = find_daemon(&args.target, &config)? {
        return match client.ask(&Request::Revoke { id: args.id.clone() })? {
            Answer::Done => print("revoked\n"),
            _ => Err(strange_answer()),
        };
    }
    let dir = config.store_dir(role_of(&args.target, &config));
    let mut store = Store::open(&dir, Missing::Refuse)?;
    let id = pairing::find(&store, &args.id)?;
    pairing::revoke(&mut store, id)?;
    print("revoked\n")
}
